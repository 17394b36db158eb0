import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { runCli } from '../../../src/cli/run.ts'

const dir = mkdtempSync(path.join(tmpdir(), 'ogw-config-cli-'))
after(() => rmSync(dir, { recursive: true }))

function write(name: string, value: unknown): string {
  const file = path.join(dir, name)
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
  return file
}

async function ogw(argv: string[], env: Record<string, string> = {}) {
  let [stdout, stderr] = ['', '']
  const code = await runCli(argv, {
    stdin: (async function* () {})(),
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    env,
    now: () => 0,
    interrupted: () => new AbortController().signal,
  })
  return { code, stdout, stderr }
}

const good = write('good.json', {
  workers: [{ name: 'a', url: 'http://u:hunter2@w:1/v1', headers: { 'x-key': '${KEY}' } }],
})
const bad = write('bad.json', { wokers: [], drain_timeout: 5 })
const env = { KEY: 'hunter3' }

test('check: a good config is one line, its warnings are on stderr', async () => {
  const { code, stdout, stderr } = await ogw(['config', 'check', good], env)
  assert.equal(code, 0)
  assert.equal(stdout, `${good} is valid, 1 worker\n`)
  assert.match(stderr, /^warning: workers\[0\]\.url: ends in \/v1/)
})

test('check: a bad config lists everything on stderr and exits with 3', async () => {
  const { code, stdout, stderr } = await ogw(['config', 'check', bad])
  assert.equal(code, 3)
  assert.equal(stdout, '')
  assert.equal(
    stderr,
    `error: ${bad} has 2 problems
  drain_timeout: use a string with a unit, as in "10s"
  wokers: unknown key (did you mean "workers"?)
`,
  )
})

test('check --json: the findings are the document, good or bad, wherever --json stands', async () => {
  for (const argv of [
    ['--json', 'config', 'check', bad],
    ['config', 'check', bad, '--json'],
  ]) {
    const { code, stdout } = await ogw(argv)
    assert.equal(code, 3)
    assert.deepEqual(JSON.parse(stdout), {
      file: bad,
      ok: false,
      problems: [
        { path: 'drain_timeout', message: 'use a string with a unit, as in "10s"' },
        { path: 'wokers', message: 'unknown key', suggestion: 'did you mean "workers"?' },
      ],
      warnings: [],
    })
  }
  const { code, stdout, stderr } = await ogw(['config', 'check', good, '--json'], env)
  assert.equal(code, 0)
  assert.equal(JSON.parse(stdout).warnings.length, 1)
  assert.equal(stderr, '')
})

test('check: OGW_CONFIG names the file, a missing one is an error', async () => {
  assert.match((await ogw(['config', 'check'], { ...env, OGW_CONFIG: good })).stdout, /is valid/)
  const gone = await ogw(['config', 'check'], { OGW_CONFIG: path.join(dir, 'gone.json') })
  assert.equal(gone.code, 3)
  assert.match(gone.stderr, /cannot read .*gone\.json/)
})

test('show: pure JSON on stdout, defaults filled in, no secret anywhere', async () => {
  for (const extra of [[], ['--json']]) {
    const { code, stdout, stderr } = await ogw(['config', 'show', '--config', good, ...extra], env)
    assert.equal(code, 0)
    const shown = JSON.parse(stdout)
    assert.equal(shown.upstream.connect_timeout, '2s')
    assert.deepEqual(shown.workers[0].headers, { authorization: '***', 'x-key': '***' })
    assert.doesNotMatch(stdout + stderr, /hunter|aHVudGVy/)
    assert.match(stderr, /^warning: /)
  }
})

test('show: nothing on stdout where the config is bad', async () => {
  const { code, stdout } = await ogw(['config', 'show', '--config', bad])
  assert.deepEqual({ code, stdout }, { code: 3, stdout: '' })
})

test('schema: a JSON Schema', async () => {
  const { code, stdout } = await ogw(['config', 'schema'])
  assert.equal(code, 0)
  assert.equal(JSON.parse(stdout).properties.listen.default, '127.0.0.1:11435')
})
