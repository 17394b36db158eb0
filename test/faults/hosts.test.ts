// Hosts that go away as hosts do: packets vanish, before or after the handshake, or the cable is
// pulled. Each worker is a host of its own, a network namespace behind a veth pair.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { makeTestHost } from '../support/netns.ts'
import type { TestHost } from '../support/netns.ts'
import { needsTool } from '../support/needs.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const ARGS = [
  '--host',
  '0.0.0.0',
  '--models',
  'm:1b',
  '--slots',
  '8',
  '--tokens',
  '200',
  '--token-ms',
  '20',
  '--load-ms',
  '1',
  '--prefill-ms',
  '1',
]
const ask = { model: 'm:1b', messages: [{ role: 'user', content: 'hi' }] }
const short = { ...ask, stream: false, options: { num_predict: 2 } }

function canMakeHosts(t: TestContext): boolean {
  return needsTool(t, 'unshare', ['-n', 'true']) && needsTool(t, 'nft') && needsTool(t, 'ip')
}

interface Hosts extends AsyncDisposable {
  rig: Rig
  first: TestHost
  second: TestHost
}

async function startHosts(): Promise<Hosts> {
  const stack = new AsyncDisposableStack()
  const hosts = [0, 1].map((index) => stack.use(makeTestHost(index)))
  const urls: string[] = []
  for (const host of hosts) {
    const worker = stack.use(await startWorkerProcess({ args: ARGS, within: host.within }))
    urls.push(`http://${host.address}:${new URL(worker.url).port}`)
  }
  const rig = stack.use(await startRig({ workers: urls.map((url) => ({ url })) }))
  const [first, second] = hosts
  assert.ok(first && second)
  return { rig, first, second, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const healthOf = (rig: Rig, name: string): string | undefined =>
  rig.gateway.parts.fleet.worker(name)?.health.state

async function reaches(
  rig: Rig,
  name: string,
  state: 'up' | 'down',
  timeoutMs: number,
): Promise<void> {
  await until(() => healthOf(rig, name) === state, { timeoutMs, what: `${name} is ${state}` })
}

test(
  'SYNs that vanish: down, served by the twin, back within an interval',
  { timeout: 60_000 },
  async (t) => {
    if (!canMakeHosts(t)) return
    await using hosts = await startHosts()
    const { rig, first, second } = hosts
    first.drop('tcp flags syn')
    await reaches(rig, 'node-1', 'down', 10_000)
    for (let round = 0; round < 5; round += 1) {
      const answer = await rig.post('/api/chat', short)
      assert.equal(answer.headers.get('x-ogw-worker'), 'node-2', await answer.text())
    }
    second.drop('tcp flags syn')
    await reaches(rig, 'node-2', 'down', 10_000)
    const begun = performance.now()
    const refused = await rig.post('/api/chat', short)
    assert.equal(refused.status, 503)
    assert.ok(performance.now() - begun < 500, 'no bypass when everything is down')
    first.heal()
    const healedAt = performance.now()
    await reaches(rig, 'node-1', 'up', 5_000)
    assert.ok(performance.now() - healedAt < 4_000)
    assert.equal((await rig.post('/api/chat', short)).status, 200)
  },
)

// The connections stand and the host is gone: nothing is ever refused or reset.
test(
  'packets that vanish after the handshake: begun streams are told, the rest is served',
  { timeout: 60_000 },
  async (t) => {
    if (!canMakeHosts(t)) return
    await using hosts = await startHosts()
    const { rig, first } = hosts
    const streams = Array.from({ length: 8 }, async () => {
      const answer = await rig.post('/api/chat', ask)
      return { worker: answer.headers.get('x-ogw-worker'), text: await answer.text() }
    })
    const { active } = rig.gateway.parts
    await until(() => active.list().filter(({ phase }) => phase === 'streaming').length === 8, {
      timeoutMs: 10_000,
      what: 'eight streams',
    })
    first.drop('meta l4proto tcp')
    // The worker's packets still go out, but it hears no acknowledgement and soon stops sending.
    const later = Array.from({ length: 4 }, async () => {
      const answer = await rig.post('/api/chat', short)
      return { status: answer.status, text: await answer.text() }
    })
    for (const { status, text } of await Promise.all(later)) assert.equal(status, 200, text)
    for (const { worker, text } of await Promise.all(streams)) {
      if (worker === 'node-2') assert.match(text, /"done":true[^\n]*\n$/)
      else assert.match(text, /\n\{"error":"[^\n]*node-1[^\n]*"\}\n$/)
    }
    await reaches(rig, 'node-1', 'down', 10_000)
    first.heal()
    await reaches(rig, 'node-1', 'up', 10_000)
  },
)

test('a pulled cable and its return', { timeout: 60_000 }, async (t) => {
  if (!canMakeHosts(t)) return
  await using hosts = await startHosts()
  const { rig, first } = hosts
  first.link('down')
  await reaches(rig, 'node-1', 'down', 10_000)
  assert.equal((await rig.post('/api/chat', short)).headers.get('x-ogw-worker'), 'node-2')
  first.link('up')
  await reaches(rig, 'node-1', 'up', 10_000)
})
