// Dashboard and alert rules name metrics that exist, with labels that they have: a name that was
// changed in the code would leave an empty panel and an alert that never fires.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { before, test } from 'node:test'
import { emptyMetrics } from './support/metrics-docs.ts'
import { findTool, needsTool } from './support/needs.ts'
import { ROOT } from './support/write-docs.ts'

const ALERTS = path.join(ROOT, 'docs/prometheus-alerts.yaml')
const DASHBOARD = path.join(ROOT, 'docs/grafana-dashboard.json')
/** Labels that Prometheus adds to every series. */
const ADDED = ['job', 'instance', 'le']

const metrics = emptyMetrics()
const labelsOf = new Map<string, readonly string[]>()

before(async () => {
  for (const { name, labels, type } of metrics.families()) {
    const ends = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    for (const end of ends) labelsOf.set(name + end, [...labels, ...ADDED])
  }
  for (const [, name = ''] of (await metrics.render()).matchAll(
    /^# TYPE ((?:process|nodejs)_\w+)/gm,
  )) {
    labelsOf.set(name, ADDED)
  }
})

function check(expr: string): void {
  const names = [...expr.matchAll(/\b(?:ollama_gateway|process|nodejs)_\w+/g)].map(([name]) => name)
  assert.ok(names.length > 0, `${expr} names no metric`)
  const labels = new Set(names.flatMap((name) => labelsOf.get(name) ?? assert.fail(`no ${name}`)))
  const used = [
    ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
    ...[...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(/,\s*/),
    ),
  ]
  for (const label of used.filter((one) => one !== 'outcome' || !labels.has(one))) {
    assert.ok(labels.has(label), `${expr}: no label ${label}`)
  }
}

interface Panel {
  type: string
  title: string
  targets?: { expr: string }[]
}

test('every panel of the dashboard shows metrics that exist', () => {
  const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
    uid: string
    schemaVersion: number
    panels: Panel[]
    templating: { list: { name: string; definition: string }[] }
  }
  assert.equal(dashboard.uid, 'ogw-fleet')
  assert.ok(dashboard.schemaVersion >= 39)
  const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title)
  assert.deepEqual(rows, ['Traffic', 'Latency', 'Queue', 'Workers', 'GPU', 'Gateway'])
  const panels = dashboard.panels.filter(({ type }) => type !== 'row')
  assert.ok(panels.length > 20)
  for (const { targets = [] } of panels) for (const { expr } of targets) check(expr)
  for (const { definition } of dashboard.templating.list) {
    const [, name = '', label = ''] = /label_values\((\w+), (\w+)\)/.exec(definition) ?? []
    assert.ok(labelsOf.get(name)?.includes(label), definition)
  }
})

/** `expr:` of each rule, on its line or folded below it. */
function alerts(): { name: string; expr: string }[] {
  const text = readFileSync(ALERTS, 'utf8')
  return text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => {
      const expr = /^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*))/m.exec(rule)
      return { name: rule.split('\n', 1)[0] ?? '', expr: expr?.[1] ?? expr?.[2] ?? '' }
    })
}

test('every alert asks for metrics that exist, and the runbook tells of it', () => {
  const runbook = readFileSync(path.join(ROOT, 'docs/operations.md'), 'utf8')
  const found = alerts()
  assert.ok(found.length >= 12, String(found.length))
  for (const { name, expr } of found) {
    check(expr)
    assert.ok(runbook.includes(`### ${name}`), `docs/operations.md has no "### ${name}"`)
  }
})

test('promtool takes the rules and the text of a scrape', async (t) => {
  if (!needsTool(t, 'promtool')) return
  const promtool = findTool('promtool') ?? ''
  execFileSync(promtool, ['check', 'rules', ALERTS], { stdio: 'pipe' })
  // prom-client's own nodejs_* are not named as promtool would.
  const lines = (await metrics.render()).split('\n')
  const input = `${lines.filter((line) => line.includes('ollama_gateway_')).join('\n')}\n`
  execFileSync(promtool, ['check', 'metrics'], { input, stdio: 'pipe' })
})

/** One alert over twelve minutes in which each series counts up by so many a minute. */
function firing(alert: string, series: Readonly<Record<string, number>>): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-alerts-'))
  try {
    const input = Object.entries(series).map(([name, step]) => ({
      series: name,
      values: `0+${step}x12`,
    }))
    const test = {
      interval: '1m',
      input_series: input,
      alert_rule_test: [{ eval_time: '12m', alertname: alert, exp_alerts: [] }],
    }
    const file = path.join(folder, 'test.yml')
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ rule_files: [ALERTS], tests: [test] }))
    const { status, stdout, stderr } = spawnSync(
      findTool('promtool') ?? '',
      ['test', 'rules', file],
      { encoding: 'utf8' },
    )
    assert.ok(status === 0 || `${stdout}${stderr}`.includes('exp:[]'), `${stdout}${stderr}`)
    return status !== 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('clients that ask for what is not there wake nobody, a fleet that fails does', (t) => {
  if (!needsTool(t, 'promtool')) return
  const requests = (outcome: string, status: string): string =>
    `ollama_gateway_requests_total{instance="a",outcome="${outcome}",status="${status}"}`
  const ok = { [requests('ok', '200')]: 10 }
  const alert = 'OgwErrorRatioHigh'
  assert.equal(firing(alert, { ...ok, [requests('failed', '404')]: 10 }), false)
  assert.equal(firing(alert, { ...ok, [requests('failed', '503')]: 10 }), true)
  assert.equal(firing(alert, { ...ok, [requests('broken', '200')]: 10 }), true)
  assert.equal(firing(alert, ok), false)
})
