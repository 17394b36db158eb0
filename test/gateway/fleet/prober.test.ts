import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import { until } from '../../support/until.ts'
import { startRawWorker } from '../../support/raw-worker.ts'
import { startFleetRig } from './fleet-rig.ts'

const stateOf = (rig: ReturnType<typeof startFleetRig>, name = 'w1') =>
  rig.worker(name).health.state

// B003: liveness that costs inference, or that costs more with more models, is what it replaces.
test('an idle fleet sends cheap GETs only, however many models there are', async () => {
  const models = Array.from({ length: 20 }, (_, index) => `m${index}:1b`)
  await using sim = await startSimulatedWorker({ models })
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
  await until(() => (sim.record.counts()['GET /api/version'] ?? 0) >= 10)
  const counts = sim.record.counts()
  assert.deepEqual(Object.keys(counts).toSorted(), [
    'GET /api/ps',
    'GET /api/tags',
    'GET /api/version',
  ])
  assert.ok((counts['GET /api/tags'] ?? 0) <= (counts['GET /api/version'] ?? 0) + 1)
  assert.equal(stateOf(rig), 'up')
  assert.equal(rig.worker().version, '0.33.0')
})

test('readiness waits for the first round of all, and a silent worker delays nobody', async () => {
  await using sim = await startSimulatedWorker()
  await using silent = await startSimulatedWorker()
  await silent.faults.add({ kind: 'silent' })
  await using rig = startFleetRig([
    { name: 'slow', urls: [silent.url], probe: { timeout: '600ms' } },
    { name: 'w1', urls: [sim.url] },
  ])
  let ready = false
  void rig.prober.firstRoundDone.then(() => (ready = true))
  assert.equal(stateOf(rig), 'starting')
  await until(() => stateOf(rig) === 'up')
  assert.equal(ready, false)
  assert.equal(stateOf(rig, 'slow'), 'starting')
  await rig.prober.firstRoundDone
  assert.equal(stateOf(rig, 'slow'), 'down')
})

// B023: new requests follow the first address that answers, up and down the list.
test('addresses are tried in order, and the higher one is returned to', async () => {
  await using a = await startSimulatedWorker()
  await using b = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [a.url, b.url] }])
  await until(() => rig.worker().current === 0)
  const away = await a.faults.add({ kind: 'status', status: 404, path: '/api/version' })
  await until(() => rig.worker().current === 1)
  assert.equal(stateOf(rig), 'up', 'one lost address is no outage')
  await away()
  await until(() => rig.worker().current === 0)
  assert.deepEqual(
    rig.told.map(({ name, fields }) => [name, fields['address']]),
    [
      ['worker.up', a.url],
      ['worker.address', b.url],
      ['worker.address', a.url],
    ],
  )
})

test('an address that answers is asked alone: lower ones see nothing', async () => {
  await using a = await startSimulatedWorker()
  await using b = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [a.url, b.url] }])
  await until(() => (a.record.counts()['GET /api/version'] ?? 0) >= 5)
  assert.deepEqual(b.record.counts(), {})
  assert.equal(rig.worker().current, 0)
})

const strange: [name: string, status: number, contentType: string, body: string][] = [
  ['a redirect', 302, 'text/plain', ''],
  ['a server error', 500, 'application/json', '{"version":"0.33.0"}'],
  ['an HTML page', 200, 'text/html', '<html>router login</html>'],
  ['JSON without a version', 200, 'application/json', '{"ok":true}'],
  ['an endless body', 200, 'application/json', `{"version":"${'x'.repeat(70_000)}"}`],
]
for (const [name, status, contentType, body] of strange) {
  test(`${name} at /api/version is no answer`, async () => {
    await using elsewhere = await startSimulatedWorker()
    await using sim = await startSimulatedWorker()
    const headers = { location: `${elsewhere.url}/api/version` }
    await sim.faults.add({ kind: 'status', status, contentType, body, headers })
    await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
    await rig.prober.firstRoundDone
    assert.equal(stateOf(rig), 'down')
    assert.deepEqual(elsewhere.record.counts(), {}, 'no redirect is followed')
  })
}

test('another path needs its accepted status only', async () => {
  await using sim = await startSimulatedWorker()
  const headers = { authorization: 'Bearer secret' }
  const probe = { path: '/healthz', accept_status: [204, 404] }
  await using rig = startFleetRig([{ name: 'w1', urls: [`${sim.url}`], probe, headers }])
  await rig.prober.firstRoundDone
  assert.equal(stateOf(rig), 'up')
  const [seen] = sim.record.requests({ path: '/healthz' })
  assert.match(JSON.stringify(seen), /Bearer secret/)
})

test('a path prefix is kept on every call', async (t) => {
  const paths = new Set<string>()
  const server = createServer((request, response) => {
    paths.add(request.url ?? '')
    assert.equal(request.headers.connection, 'close')
    response.end('{"version":"0.33.0","models":[]}')
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server that listens
  const { port } = server.address() as AddressInfo
  {
    await using rig = startFleetRig([{ name: 'w1', urls: [`http://127.0.0.1:${port}/ollama`] }])
    await until(() => rig.worker().inventory.state === 'known')
    await until(() => rig.worker().loaded.state === 'known')
  }
  assert.deepEqual([...paths].toSorted(), [
    '/ollama/api/ps',
    '/ollama/api/tags',
    '/ollama/api/version',
  ])
})

test('one missed probe is forgiven, two in a row are not', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
  await until(() => stateOf(rig) === 'up')
  await sim.faults.add({ kind: 'status', status: 500, path: '/api/version', times: 1 })
  await until(() => rig.worker().addresses[0]?.lastError !== undefined)
  await until(() => rig.worker().addresses[0]?.lastError === undefined)
  assert.deepEqual(
    rig.told.map(({ name }) => name),
    ['worker.up'],
  )
  const back = await sim.faults.add({ kind: 'refuse' })
  await until(() => stateOf(rig) === 'down')
  const down = rig.told.at(-1)
  assert.equal(down?.name, 'worker.down')
  assert.equal(down.fields['address'], sim.url)
  assert.match(String(down.fields['error']), /connection refused/)
  await back()
  await until(() => stateOf(rig) === 'up')
  assert.equal(rig.told.at(-1)?.name, 'worker.up')
  assert.ok(Number(rig.told.at(-1)?.fields['down_ms']) >= 0)
})

test('a port that is open without anybody behind it is down', async () => {
  // Connections wait in the backlog of a stopped process: accepted by the kernel, answered by nobody.
  const script = `
    const server = require('node:http').createServer((q, r) => r.end('{"version":"0.33.0"}'))
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const port = await new Promise<string>((resolve) =>
      child.stdout.once('data', (data) => resolve(String(data).trim())),
    )
    const probe = { timeout: '300ms' }
    await using rig = startFleetRig([{ name: 'w1', urls: [`http://127.0.0.1:${port}`], probe }])
    await until(() => stateOf(rig) === 'up')
    child.kill('SIGSTOP')
    await until(() => stateOf(rig) === 'down')
    child.kill('SIGCONT')
    await until(() => stateOf(rig) === 'up')
  } finally {
    child.kill('SIGKILL')
  }
})

test('a blackhole at the top does not keep the lower address from being used', async (t) => {
  const held = createTcpServer((socket) => socket.resume().on('error', () => {}))
  t.after(() => held.close())
  await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server that listens
  const { port } = held.address() as AddressInfo
  await using sim = await startSimulatedWorker()
  const probe = { timeout: '200ms' }
  {
    const urls = [`http://127.0.0.1:${port}`, sim.url]
    await using rig = startFleetRig([{ name: 'w1', urls, probe }])
    await rig.prober.firstRoundDone
    assert.equal(rig.worker().current, 1)
    assert.match(rig.worker().addresses[0]?.lastError ?? '', /no answer within \d+ ms$/)
  }
  const open = await new Promise<number>((resolve) =>
    held.getConnections((_error, count) => resolve(count)),
  )
  await until(
    async () => {
      const left = await new Promise<number>((resolve) =>
        held.getConnections((_error, count) => resolve(count)),
      )
      return left === 0
    },
    { what: `the ${open} probe sockets to end` },
  )
})

test('a worker whose bytes flow is alive whatever its probe says', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
  await until(() => stateOf(rig) === 'up')
  rig.flowing.add('w1')
  await sim.faults.add({ kind: 'status', status: 500, path: '/api/version' })
  const before = sim.record.counts()['GET /api/version'] ?? 0
  await until(() => (sim.record.counts()['GET /api/version'] ?? 0) >= before + 5)
  assert.equal(stateOf(rig), 'up')
  assert.equal(rig.worker().current, 0)
  rig.flowing.delete('w1')
  await until(() => stateOf(rig) === 'down')
})

test('a name that points elsewhere is another address, resolved anew at each probe', async () => {
  await using sim = await startSimulatedWorker({ host: '127.0.0.1' })
  await using moved = await startSimulatedWorker({ host: '127.0.0.2', port: sim.port })
  let ips = ['127.0.0.1']
  await using rig = startFleetRig([{ name: 'w1', urls: [`http://worker.internal:${sim.port}`] }], {
    resolve: () => Promise.resolve(ips),
  })
  await until(() => rig.worker().addresses[0]?.ip === '127.0.0.1')
  await until(() => rig.worker().inventory.state === 'known')
  const pool = rig.pools.poolFor(rig.worker(), 0)
  const first = await pool.request({ path: '/api/version', method: 'GET' })
  await first.body.dump()
  ips = ['127.0.0.2', '127.0.0.1']
  const rounds = sim.record.counts()['GET /api/version'] ?? 0
  await until(() => (sim.record.counts()['GET /api/version'] ?? 0) >= rounds + 3)
  assert.equal(rig.worker().addresses[0]?.ip, '127.0.0.1', 'several IPs are no move')
  ips = ['127.0.0.2']
  await until(() => rig.worker().addresses[0]?.ip === '127.0.0.2')
  const { fields } = await until(() => rig.told.find(({ name }) => name === 'worker.address'))
  assert.equal(fields['before_ip'], '127.0.0.1')
  assert.equal(fields['ip'], '127.0.0.2')
  await until(() => (moved.record.counts()['GET /api/tags'] ?? 0) > 0)
  const next = rig.pools.poolFor(rig.worker(), 0)
  assert.notEqual(next, pool)
  const hosts = moved.record.requests({ path: '/api/version' })
  assert.match(JSON.stringify(hosts[0]), /worker\.internal/, 'Host stays the name')
  await until(() => pool.destroyed, { what: 'the old pool to be gone' })
})

test('a name that is not resolved is down, and says so', async () => {
  await using rig = startFleetRig([{ name: 'w1', urls: ['http://worker.test:11434'] }], {
    resolve: () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })),
  })
  await rig.prober.firstRoundDone
  const { health } = rig.worker()
  assert.ok(health.state === 'down')
  assert.match(health.error, /worker\.test: host name not found/)
})

test('a name whose resolution hangs is down after the timeout', async () => {
  const probe = { timeout: '100ms' }
  await using rig = startFleetRig([{ name: 'w1', urls: ['http://worker.test:11434'], probe }], {
    resolve: () => new Promise(() => {}),
  })
  await rig.prober.firstRoundDone
  assert.equal(stateOf(rig), 'down')
})

test('a refused request makes the next round decide at once', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }], { interval: 3_600_000 })
  await until(() => stateOf(rig) === 'up')
  await sim.faults.add({ kind: 'refuse' })
  const fault = { type: 'transport_fault', worker: 'w1', address: sim.url } as const
  rig.fleet.apply({ ...fault, error: 'connection refused' })
  assert.equal(stateOf(rig), 'up', 'a fault alone is the breaker’s business')
  await until(() => stateOf(rig) === 'down')
})

test('an address that a silent request lost is left at once for one that answers', async () => {
  await using a = await startSimulatedWorker()
  await using b = await startSimulatedWorker()
  const workers = [{ name: 'w1', urls: [a.url, b.url], probe: { timeout: '200ms' } }]
  await using rig = startFleetRig(workers, { interval: 3_600_000 })
  await until(() => rig.worker().current === 0)
  await a.faults.add({ kind: 'silent' })
  const signal = AbortSignal.timeout(5_000)
  const probe = await rig.prober.probeAddress(rig.worker(), a.url, signal)
  assert.equal(probe.ok, false)
  rig.fleet.apply({ type: 'silent', worker: 'w1', address: a.url, error: 'silence' })
  assert.equal(rig.worker().current, undefined)
  assert.equal(stateOf(rig), 'starting')
  await until(() => rig.worker().current === 1)
  assert.deepEqual(await rig.prober.probeAddress(rig.worker(), b.url, signal), { ok: true })
  // A request that still runs on the other address is judged by that one.
  assert.equal((await rig.prober.probeAddress(rig.worker(), a.url, signal)).ok, false)
  const aborted = await rig.prober.probeAddress(rig.worker(), b.url, AbortSignal.abort())
  assert.equal(aborted.ok, false)
})

test('with probes off nothing is asked; a fault takes the worker down for a while', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url], probe: { interval: 'off' } }])
  rig.config.upstream.breaker.open = 150
  await rig.prober.firstRoundDone
  assert.equal(stateOf(rig), 'up')
  assert.equal(rig.worker().nextProbeAt, undefined)
  const fault = { type: 'transport_fault', worker: 'w1', address: sim.url } as const
  rig.fleet.apply({ ...fault, error: 'connection refused' })
  assert.equal(stateOf(rig), 'down')
  assert.notEqual(rig.worker().nextProbeAt, undefined)
  await until(() => stateOf(rig) === 'up')
  assert.equal(rig.worker().current, 0)
  assert.deepEqual(sim.record.counts(), {})
  await rig.prober.probeNow('w1')
  assert.equal(sim.record.counts()['GET /api/version'], 1)
  assert.equal(stateOf(rig), 'up')
})

test('a probe that an operator asks for ends a long pause', async () => {
  await using sim = await startSimulatedWorker()
  const back = await sim.faults.add({ kind: 'refuse' })
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }], { interval: 3_600_000 })
  await rig.prober.firstRoundDone
  assert.equal(stateOf(rig), 'down')
  await back()
  await rig.prober.probeNow('w1')
  assert.equal(stateOf(rig), 'up')
  await rig.prober.probeNow('nobody')
})

test('workers that the config adds are probed, those it removes are left alone', async () => {
  await using a = await startSimulatedWorker()
  await using b = await startSimulatedWorker()
  await using rig = startFleetRig([
    { name: 'w1', urls: [a.url] },
    { name: 'w2', urls: [b.url] },
  ])
  await until(() => stateOf(rig) === 'up' && stateOf(rig, 'w2') === 'up')
  const [first] = rig.config.workers
  assert.ok(first)
  rig.fleet.apply({
    type: 'configured',
    workers: [{ ...first, name: 'w3' }, first],
  })
  assert.equal(stateOf(rig), 'up', 'what is known stays')
  assert.equal(rig.worker().index, 1)
  assert.equal(rig.fleet.worker('w2'), undefined)
  await until(() => stateOf(rig, 'w3') === 'up')
  const left = b.record.counts()['GET /api/version'] ?? 0
  const before = a.record.counts()['GET /api/version'] ?? 0
  await until(() => (a.record.counts()['GET /api/version'] ?? 0) >= before + 10)
  assert.ok((b.record.counts()['GET /api/version'] ?? 0) <= left + 1)
})

// B135: a proxy of the environment would carry the fleet's traffic out of the house.
test('proxies of the environment are not used', async () => {
  await using proxy = await startRawWorker([{ do: 'reset' }])
  await using sim = await startSimulatedWorker()
  const script = `
    setInterval(() => {}, 1000) // the clock keeps no process alive
    import { startFleetRig } from ${JSON.stringify(new URL('fleet-rig.js', import.meta.url).href)}
    await using rig = startFleetRig([{ name: 'w1', urls: [${JSON.stringify(sim.url)}] }])
    await rig.prober.firstRoundDone
    const answer = await rig.pools.poolFor(rig.worker(), 0).request({ path: '/api/tags', method: 'GET' })
    await answer.body.dump()
    console.log(rig.worker().health.state, answer.statusCode)
    process.exit(0)`
  const env = {
    ...process.env,
    NODE_USE_ENV_PROXY: '1',
    HTTP_PROXY: proxy.url,
    http_proxy: proxy.url,
    HTTPS_PROXY: proxy.url,
    NO_PROXY: '',
    no_proxy: '',
  }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { env })
  let out = ''
  child.stdout.on('data', (data) => (out += String(data)))
  child.stderr.pipe(process.stderr)
  await new Promise((resolve) => child.once('close', resolve))
  assert.equal(out.trim(), 'up 200')
  assert.equal(proxy.connections, 0)
})

test('after stop nothing is asked any more', async () => {
  await using sim = await startSimulatedWorker()
  {
    await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
    await until(() => stateOf(rig) === 'up')
  }
  // What was on its way when it stopped still arrives.
  await new Promise((resolve) => setTimeout(resolve, 100))
  await until(() => sim.record.connections().open === 0)
  const { opened } = sim.record.connections()
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.equal(sim.record.connections().opened, opened)
})
