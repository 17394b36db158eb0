// The figures of workers from a program called nvidia-smi and from pages over HTTP, as they come,
// fail and come back.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../../../src/gateway/clock.ts'
import { Config } from '../../../../src/gateway/config/schema.ts'
import { Fleet } from '../../../../src/gateway/fleet/fleet.ts'
import { TelemetryReader } from '../../../../src/gateway/fleet/telemetry/telemetry.ts'
import type { Worker } from '../../../../src/gateway/fleet/worker.ts'
import { fakeNvidiaSmi } from '../../../support/fake-nvidia-smi.ts'
import { until } from '../../../support/until.ts'

const MIB = 1024 * 1024
const PACE = { tickMs: 300, firstRowMs: 10_000, restartMs: 100, maxRestartMs: 400 }

type Logged = Record<string, string | undefined>

function rig(
  workers: readonly Record<string, unknown>[],
  env: Record<string, string> = {},
  nvidiaPace = PACE,
) {
  const config = Config.parse({
    workers: workers.map((worker, index) => ({
      name: `w${index + 1}`,
      url: `http://127.0.0.1:${index + 1}`,
      ...worker,
    })),
  })
  const log: Logged[] = []
  const clock = systemClock
  const fleet = new Fleet(
    { clock, log: { event: () => {} }, settings: () => config, bytesFlowing: () => false },
    config.workers,
  )
  const reader = new TelemetryReader({
    fleet,
    clock,
    env,
    log: { event: (event, fields) => void log.push({ event, ...fields }) },
    pollMs: 100,
    nvidiaPace,
    readMemory: () => Promise.resolve({ usedBytes: 1024 * MIB, totalBytes: 4096 * MIB }),
    readAmd: () => Promise.resolve([]),
  })
  reader.start()
  return {
    fleet,
    reader,
    log,
    worker: (name: string): Worker => {
      const found = fleet.worker(name)
      assert.ok(found)
      return found
    },
    [Symbol.dispose]: () => reader.stop(),
  }
}

const eventually = (what: string, look: () => unknown) =>
  until(() => look() === true, { what, timeoutMs: 20_000 })

// B143
test('two workers on one host, a GPU each: one nvidia-smi, and each its own figures', async () => {
  using smi = fakeNvidiaSmi('full0')
  using host = rig(
    [
      { nvidia_smi: true, nvidia_gpu: '0' },
      { nvidia_smi: true, nvidia_gpu: 'GPU-bbbbbbbb' },
      { nvidia_smi: true },
      { nvidia_smi: true, nvidia_gpu: '0,4' },
    ],
    smi.env,
  )
  await eventually('the figures', () => host.worker('w2').telemetry?.vramUsedBytes !== undefined)
  const used = ['w1', 'w2', 'w3'].map((name) => host.worker(name).telemetry?.vramUsedBytes)
  assert.deepEqual(used, [24_000 * MIB, 1_000 * MIB, 25_000 * MIB])
  assert.equal(host.worker('w2').telemetry?.gpus[0]?.name, 'NVIDIA, Inc. X')
  assert.equal(host.worker('w4').telemetryError, 'there is no GPU 4 here')
  assert.equal(host.worker('w1').telemetry?.memoryTotalBytes, 4096 * MIB)
  const ids = host.fleet.workers().flatMap(({ telemetry }) => telemetry?.gpus ?? [])
  assert.equal(new Set(ids.map(({ id }) => id)).size, 2)
  assert.equal(smi.starts(), 1)
})

// B136, B138
test('every [N/A] is unknown; pressure too; host memory stays', async () => {
  using smi = fakeNvidiaSmi('na')
  using host = rig([{ nvidia_smi: true }], smi.env)
  await eventually('a GPU', () => host.worker('w1').telemetry?.gpus.length === 1)
  const { telemetry } = host.worker('w1')
  assert.equal(telemetry?.vramUsedBytes, undefined)
  assert.equal(telemetry?.vramTotalBytes, undefined)
  assert.equal(telemetry?.gpuUtilization, undefined)
  assert.equal(telemetry?.memoryUsedBytes, 1024 * MIB)
})

// B140
for (const how of ['not there', 'not executable'] as const) {
  test(`a nvidia-smi that is ${how}: a quiet state, told once, over when it appears`, async () => {
    using smi = fakeNvidiaSmi('idle')
    smi.remove()
    if (how === 'not executable') smi.install('not executable')
    using host = rig([{ nvidia_smi: true }, {}], { PATH: `${smi.folder}:/usr/bin:/bin` })
    await eventually('the reason', () => host.worker('w1').telemetryError !== undefined)
    const reason = host.worker('w1').telemetryError ?? ''
    assert.match(reason, how === 'not there' ? /not installed/ : /EACCES/)
    assert.equal(host.worker('w2').telemetryError, undefined)
    await new Promise((resolve) => setTimeout(resolve, 1_000)) // several starts are tried in vain
    assert.deepEqual(host.log, [{ event: 'telemetry.unavailable', source: 'nvidia-smi', reason }])
    smi.install()
    await eventually('figures', () => host.worker('w1').telemetry?.vramUsedBytes === 596 * MIB)
    assert.equal(host.worker('w1').telemetryError, undefined)
    assert.deepEqual(
      host.log.map(({ event }) => event),
      ['telemetry.unavailable', 'telemetry.available'],
    )
  })
}

// B141
const FAILURES = [
  ['failed', /exit code 9: NVIDIA-SMI has failed because/],
  ['dies', /exit code 1: it said nothing/],
  ['empty', /exit code 0: it said nothing/],
  ['garbage', /^nvidia-smi: x{200}$/],
  ['hang', /no row came in time/],
] as const
for (const [mood, reason] of FAILURES) {
  test(`a nvidia-smi that turns to ${mood}: unknown with the reason, and back`, async () => {
    using smi = fakeNvidiaSmi('load')
    using host = rig([{ nvidia_smi: true }], smi.env)
    const worker = host.worker('w1')
    await eventually('load', () => worker.telemetry?.gpuUtilization === 0.98)
    smi.be(mood)
    await eventually('the reason', () => reason.test(worker.telemetryError ?? ''))
    await eventually('no figures', () => worker.telemetry?.gpuUtilization === undefined)
    smi.be('idle')
    await eventually('figures', () => worker.telemetry?.gpuUtilization === 0)
    assert.equal(worker.telemetryError, undefined)
    // In between a dying run may count as partial, as it told figures before.
    assert.equal(host.log.at(0)?.['event'], 'telemetry.available')
    assert.equal(host.log.at(-1)?.['event'], 'telemetry.available')
    assert.ok(host.log.length <= 4, JSON.stringify(host.log))
  })
}

/** False once the process is gone. */
function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('one that hangs from its first moment is ended, told and tried again', async () => {
  using smi = fakeNvidiaSmi('hang')
  using host = rig([{ nvidia_smi: true }], smi.env, { ...PACE, firstRowMs: 1_000 })
  const worker = host.worker('w1')
  await eventually('the reason', () => /no row came in time/.test(worker.telemetryError ?? ''))
  const [first] = smi.pids()
  assert.ok(first !== undefined)
  await eventually('its end', () => !lives(first))
  smi.be('idle')
  await eventually('figures', () => worker.telemetry?.gpuUtilization === 0)
})

test('one of two GPUs is lost: the other is kept, and it is said and told once', async () => {
  using smi = fakeNvidiaSmi('two')
  using host = rig([{ nvidia_smi: true }], smi.env)
  const worker = host.worker('w1')
  await eventually('both', () => worker.telemetry?.gpus.length === 2)
  assert.equal(worker.telemetry?.gpuUtilization, 0.25)
  smi.be('lost')
  await eventually('one', () => worker.telemetry?.gpus.length === 1)
  await until(() => smi.starts() >= 4, { what: 'further runs', timeoutMs: 20_000 })
  assert.equal(worker.telemetry?.vramUsedBytes, 1_000 * MIB)
  assert.match(worker.telemetryError ?? '', /GPU is lost/)
  assert.deepEqual(
    host.log.map(({ event }) => event),
    ['telemetry.available', 'telemetry.partial'],
  )
  smi.be('two')
  await eventually('both again', () => worker.telemetryError === undefined)
  assert.equal(worker.telemetry?.gpus.length, 2)
})

test('an older driver is asked without the field that it does not know', async () => {
  using smi = fakeNvidiaSmi('old')
  using host = rig([{ nvidia_smi: true }], smi.env)
  await eventually('figures', () => host.worker('w1').telemetry?.powerW === 26.2)
  assert.deepEqual(
    host.log.map(({ event }) => event),
    ['telemetry.available'],
  )
})

test('a MIG instance stands for its GPU; nobody asks: nothing runs', async () => {
  using smi = fakeNvidiaSmi('mig')
  using host = rig(
    [{ nvidia_smi: true, nvidia_gpu: 'MIG-cccccccc-0000-0000-0000-000000000000' }],
    smi.env,
  )
  await eventually('memory', () => host.worker('w1').telemetry?.vramUsedBytes === 40_000 * MIB)
  assert.equal(host.worker('w1').telemetry?.gpuUtilization, undefined)
  using idle = fakeNvidiaSmi('idle')
  using other = rig([{}], idle.env)
  await eventually('memory', () => other.worker('w1').telemetry?.memoryUsedBytes === 1024 * MIB)
  assert.equal(idle.starts(), 0)
})

test('a page overrides what is local, goes stale, and is told once', async () => {
  let status = 200
  let text =
    'DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1"} 5\nDCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-1"} 5\n'
  let credentials: string | undefined
  const server = createServer((req, res) => {
    credentials = req.headers.authorization
    res.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const telemetry_url = `http://me:pass@127.0.0.1:${port}/metrics`
  {
    using host = rig([
      { telemetry_url, headers: { 'x-secret': 's' } },
      { telemetry_url, nvidia_gpu: '3' },
    ])
    const worker = host.worker('w1')
    await eventually('figures', () => worker.telemetry?.vramUsedBytes === 5 * MIB)
    assert.equal(worker.telemetry?.memoryUsedBytes, 1024 * MIB)
    assert.equal(credentials, `Basic ${btoa('me:pass')}`)
    await eventually('the reason', () => host.worker('w2').telemetryError !== undefined)
    assert.match(host.worker('w2').telemetryError ?? '', /no GPU 3/)
    assert.ok(host.reader.succeededAt('w1') !== undefined)

    status = 500
    await eventually('the error', () => worker.telemetryError === 'answered 500')
    await eventually('staleness', () => worker.telemetry?.vramUsedBytes === undefined)
    status = 200
    text = JSON.stringify({ gpu_util: 10, vram_used_bytes: 7, vram_total_bytes: 9 })
    await eventually('the other form', () => worker.telemetry?.vramUsedBytes === 7)
    assert.deepEqual(
      host.log.filter(({ worker: of }) => of === 'w1').map(({ event }) => event),
      ['telemetry.available', 'telemetry.unavailable', 'telemetry.available'],
    )
  }
  server.closeAllConnections()
  server.close()
})

test('a page that never ends, or is none, does not count', async () => {
  const endless = createServer((_req, res) => {
    const write = (): void =>
      void (res.write('x'.repeat(65_536)) ? setImmediate(write) : res.once('drain', write))
    write()
  })
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
  const { port } = endless.address() as AddressInfo
  {
    using host = rig([
      { telemetry_url: `127.0.0.1:${port}` },
      { telemetry_url: 'http://127.0.0.1:1/' },
    ])
    await eventually(
      'too long',
      () => host.worker('w1').telemetryError === 'the answer is too long',
    )
    await eventually('refused', () => host.worker('w2').telemetryError === 'connection refused')
  }
  endless.closeAllConnections()
  endless.close()
})
