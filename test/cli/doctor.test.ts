// What `ogw doctor` makes of what it sees. The verdicts are tables; one run goes through the whole.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import {
  judgeClock,
  judgeConfigDrift,
  judgeModels,
  judgeNode,
  judgeProxies,
  judgeSpace,
  judgeState,
  judgeTelemetry,
  judgeWorkers,
} from '../../src/cli/doctor/verdicts.ts'
import { startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'
import { NOW, run } from '../support/run-cli.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'ogw-doctor-'))
after(() => rmSync(folder, { recursive: true }))

const levels = (findings: readonly Finding[]): string[] => findings.map(({ level }) => level)

test('node, proxies, clock, space', () => {
  assert.equal(judgeNode('26.12.1').level, 'ok')
  assert.equal(judgeNode('22.1.0').level, 'fail')
  assert.equal(judgeProxies({}).level, 'ok')
  assert.equal(judgeProxies({ HTTPS_PROXY: '' }).level, 'ok')
  const proxied = judgeProxies({ https_proxy: 'http://user:secret@proxy:3128' })
  assert.equal(proxied.level, 'warn')
  assert.ok(!JSON.stringify(proxied).includes('secret'), 'a proxy may have a password')
  assert.equal(judgeClock(NOW, NOW + 4000).level, 'ok')
  assert.equal(judgeClock(NOW, NOW + 60_000).level, 'warn')
  assert.equal(judgeClock(0, undefined).level, 'fail')
  assert.equal(judgeSpace('/x', 5e9).level, 'ok')
  assert.equal(judgeSpace('/x', 5e8).level, 'warn')
  assert.equal(judgeSpace('/x', 1e6).level, 'fail')
})

test('workers: down fails, draining and starting warn, none at all fails', () => {
  assert.deepEqual(levels(judgeWorkers(fleet.workers)), ['ok', 'warn', 'fail'])
  assert.deepEqual(levels(judgeWorkers([fleet.worker('a', 0, { health: 'starting' })])), ['warn'])
  assert.deepEqual(levels(judgeWorkers([])), ['fail'])
  const history = { ...fleet.storage[0]!, name: 'placement_history_file', error: 'line 2 …' }
  assert.deepEqual(levels(judgeState([history])), ['warn'])
})

test('GPU figures: none is no fault, missing ones warn, a shared GPU is told once', () => {
  const none = fleet.worker('a', 0, {})
  assert.deepEqual(
    judgeTelemetry([none]).map(({ message }) => message),
    ['none is read'],
  )
  const [first] = fleet.workers
  assert.ok(first)
  const [told, ...more] = judgeTelemetry([first, { ...first, name: 'b' }])
  assert.deepEqual(more, [])
  assert.equal(told?.message, 'NVIDIA GeForce RTX 4090: 50%, 12GB of 24GB')
  const broken = fleet.worker('c', 1, { telemetry_error: 'nvidia-smi is not installed' })
  assert.deepEqual(levels(judgeTelemetry([broken])), ['warn', 'ok'])
})

test('models whose copies differ, state that was not written', () => {
  assert.equal(judgeModels(fleet.models).level, 'warn')
  assert.equal(judgeModels(fleet.models.slice(1)).level, 'ok')
  assert.deepEqual(judgeState(fleet.storage), [])
  assert.deepEqual(levels(judgeState([{ ...fleet.storage[0]!, error: 'ENOSPC' }])), ['fail'])
})

test('config: a file that differs warns, one that is bad fails', () => {
  const { status } = fleet
  const same = { ...status, drift: { ...status.drift, state: 'same' as const, keys: [] } }
  assert.deepEqual(levels(judgeConfigDrift(same)), ['ok'])
  assert.deepEqual(levels(judgeConfigDrift(status)), ['warn'])
  const broken = { ...status.drift, state: 'differs' as const, keys: [], problems: ['line 3'] }
  const [told, ...more] = judgeConfigDrift({ ...status, drift: broken })
  assert.deepEqual([told?.level, told?.message, more], ['fail', 'line 3', []])
  const refused = { ...same, config: { ...same.config, reload_error: 'workers: none' } }
  assert.deepEqual(levels(judgeConfigDrift(refused)), ['fail'])
})

async function examined(worker = fleet.worker('node-1', 0)) {
  const listener = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => listener.once('listening', resolve))
  const listen = `127.0.0.1:${(listener.address() as AddressInfo).port}`
  const same = { path: null, state: 'no_file' as const, keys: [], problems: [] }
  const status = {
    ...fleet.status,
    listen,
    ops_listen: null,
    drift: same,
    problems: [],
    socket: folder,
    started_at: new Date(NOW - 7_200_000).toISOString(),
  }
  const file = { ...fleet.storage[0]!, path: path.join(folder, 'model-placement.json') }
  await using admin = await startFakeAdmin({
    status: () => status,
    'workers.list': () => [worker],
    'models.list': () => fleet.models.slice(1),
    'storage.list': () => [file],
  })
  const asJson = await run(['doctor', '--json'], { socket: admin.socket })
  const inWords = await run(['doctor'], { socket: admin.socket })
  await new Promise((resolve) => listener.close(resolve))
  return { asJson, inWords, findings: JSON.parse(asJson.stdout) as Finding[] }
}

test('a healthy gateway: every check ok, exit code 0', async () => {
  const { asJson, inWords, findings } = await examined()
  assert.equal(asJson.code, 0, asJson.stdout)
  assert.deepEqual(
    findings.filter(({ level }) => level === 'fail'),
    [],
  )
  for (const check of [
    'node',
    'proxies',
    'clock',
    'socket',
    'version',
    'listener',
    'state folder',
    'disk space',
    'config drift',
    'worker node-1',
    'model drift',
  ]) {
    assert.ok(
      findings.some((one) => one.check === check),
      check,
    )
  }
  assert.match(inWords.stdout, /^ok {5}node {12}version/m)
})

test('a worker that is down: exit code 7, and what to do', async () => {
  const { asJson, inWords } = await examined(fleet.workers[2])
  assert.deepEqual([asJson.code, inWords.code], [7, 7])
  assert.match(inWords.stdout, /^fail {3}worker node-3[^]*to do: .*ogw workers probe node-3/m)
  assert.match(inWords.stdout, /\\u001b\[2J/)
  assert.match(inWords.stderr, /1 check failed/)
})

test('without a gateway the config file that it would read is checked', async () => {
  const file = path.join(folder, 'config.json')
  writeFileSync(file, '{"wokers": []}')
  const ran = await run(['doctor', '--json'], {
    socket: path.join(folder, 'none.sock'),
    env: { OGW_CONFIG: file },
  })
  assert.equal(ran.code, 7)
  const failed = (JSON.parse(ran.stdout) as Finding[]).filter(({ level }) => level === 'fail')
  assert.deepEqual(
    failed.map(({ check }) => check),
    ['config file', 'socket'],
  )
  assert.match(failed[0]?.message ?? '', /wokers: unknown key/)
})
