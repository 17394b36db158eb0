// A real Prometheus scrapes the real gateway while it works.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { findTool, needsTool } from '../support/needs.ts'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import { ROOT } from '../support/write-docs.ts'

interface QueryAnswer {
  data: { result: { metric: Record<string, string>; value: [number, string] }[] }
}

test('Prometheus takes every scrape under load, with the rules loaded', async (t) => {
  if (!needsTool(t, 'prometheus')) return
  await using rig = await startRig({
    workers: [{ models: ['qwen3:8b'] }, { models: ['qwen3:8b'] }],
  })
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-prometheus-'))
  const port = await freePort()
  const config = path.join(folder, 'prometheus.yml')
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [path.join(ROOT, 'docs/prometheus-alerts.yaml')],
      scrape_configs: [
        { job_name: 'ogw', static_configs: [{ targets: [new URL(rig.opsUrl).host] }] },
      ],
    }),
  )
  const child = spawn(
    findTool('prometheus') ?? '',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const query = async (expr: string): Promise<QueryAnswer['data']['result']> => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`
    return ((await (await fetch(url)).json()) as QueryAnswer).data.result
  }
  const valueOf = async (expr: string): Promise<number> =>
    Number((await query(expr))[0]?.value[1] ?? Number.NaN)
  const body = { model: 'qwen3:8b', stream: false, messages: [{ role: 'user', content: 'hi' }] }
  let asked = 0
  const load = async (): Promise<void> => {
    const answers = Array.from({ length: 8 }, () => rig.post('/api/chat', body))
    for (const answer of await Promise.all(answers)) {
      assert.equal(answer.status, 200)
      await answer.arrayBuffer()
      asked += 1
    }
  }
  try {
    await until(
      async () => {
        await load()
        return (await valueOf('count_over_time(up{job="ogw"}[1m])')) >= 3
      },
      { what: 'three scrapes', timeoutMs: 60_000, intervalMs: 100 },
    )
    assert.equal(await valueOf('min_over_time(up{job="ogw"}[1m])'), 1)
    await until(
      async () => (await valueOf('sum(ollama_gateway_requests_total{outcome="ok"})')) === asked,
      { what: `${asked} counted requests`, timeoutMs: 30_000, intervalMs: 100 },
    )
    assert.equal((await query('ollama_gateway_worker_up == 1')).length, 2)
    assert.deepEqual(await query('ALERTS{alertstate="firing",severity="critical"}'), [])
  } finally {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
})
