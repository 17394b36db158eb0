// GPU figures from a program called nvidia-smi to where they matter: the choice of a worker, and
// the same numbers for whoever asks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdminClient } from '../../../src/gateway/contract/client.ts'
import { socketTransport } from '../../../src/gateway/contract/transport.ts'
import { fakeNvidiaSmi } from '../../support/fake-nvidia-smi.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

const MIB = 1024 * 1024

const vramOf = (rig: Rig, worker: string): number | undefined =>
  rig.gateway.parts.fleet.worker(worker)?.telemetry?.vramUsedBytes

const figuresOf = (rig: Rig, ...workers: string[]) =>
  until(() => workers.every((worker) => vramOf(rig, worker) !== undefined), {
    what: 'the figures',
    timeoutMs: 20_000,
  })

function adminOf(rig: Rig): AdminClient {
  const { socket } = rig.gateway.parts.config().admin
  assert.ok(socket !== null)
  return new AdminClient({ transport: socketTransport([socket]), actor: 'test' })
}

const MODELS = { models: ['qwen3:8b'] }
const chat = { model: 'qwen3:8b', stream: false, messages: [{ role: 'user', content: 'hello' }] }

// B143
test('of two workers on one host the one whose own GPU has room is chosen', async () => {
  using smi = fakeNvidiaSmi('full0')
  await using rig = await startRig({
    workers: [MODELS, MODELS],
    perWorker: {
      'node-1': { nvidia_smi: true, nvidia_gpu: '0' },
      'node-2': { nvidia_smi: true, nvidia_gpu: '1' },
    },
    config: { routing: { affinity_bonus: 0, loaded_bonus: 0, throughput_bonus: 0 } },
    env: smi.env,
  })
  await figuresOf(rig, 'node-1', 'node-2')
  for (let round = 0; round < 6; round += 1) {
    const answer = await rig.post('/api/chat', chat)
    assert.equal(answer.headers.get('x-ogw-worker'), 'node-2')
    await answer.arrayBuffer()
  }
  assert.equal(smi.starts(), 1)
  const text = await (await fetch(`${rig.opsUrl}/metrics`)).text()
  assert.ok(text.includes(`\nollama_gateway_fleet_vram_used_bytes ${25_000 * MIB}\n`))
})

// B138
test('where every figure is [N/A] nothing is held against a worker', async () => {
  using smi = fakeNvidiaSmi('na')
  await using rig = await startRig({
    workers: [MODELS, MODELS],
    perWorker: { 'node-1': { nvidia_smi: true } },
    config: { routing: { affinity_bonus: 0, loaded_bonus: 0, throughput_bonus: 0 } },
    env: smi.env,
  })
  const { fleet } = rig.gateway.parts
  await until(() => fleet.worker('node-1')?.telemetry?.gpus.length === 1, { timeoutMs: 20_000 })
  const chosen = new Set<string | null>()
  for (let round = 0; round < 6; round += 1) {
    const answer = await rig.post('/api/chat', chat)
    chosen.add(answer.headers.get('x-ogw-worker'))
    await answer.arrayBuffer()
  }
  assert.deepEqual(chosen, new Set(['node-1', 'node-2']))
})

test('card, status, metrics and another ogw have the same numbers', async () => {
  using smi = fakeNvidiaSmi('load')
  await using rig = await startRig({ workerConfig: { nvidia_smi: true }, env: smi.env })
  await figuresOf(rig, 'node-1')
  const admin = adminOf(rig)
  const [row] = await admin.call('workers.list', {})
  const status = await admin.call('status', {})
  assert.equal(row?.telemetry?.vram_used_bytes, 22_000 * MIB)
  assert.equal(row.telemetry.gpu_utilization, 0.98)
  assert.equal(row.telemetry.temperature_c, 71)
  assert.equal(row.telemetry.power_w, 402.7)
  assert.equal(row.telemetry.gpus[0]?.name, 'NVIDIA GeForce RTX 4090')
  assert.equal(status.gpus.vram_used_bytes, row.telemetry.vram_used_bytes)
  assert.equal(status.gpus.power_w, 402.7)
  const text = await (await fetch(`${rig.opsUrl}/metrics`)).text()
  for (const [name, value] of [
    ['vram_used_bytes', row.telemetry.vram_used_bytes],
    ['vram_total_bytes', row.telemetry.vram_total_bytes],
    ['gpu_utilization_percent', 98],
    ['gpu_temperature_celsius', 71],
    ['gpu_power_watts', 402.7],
    ['memory_total_bytes', row.telemetry.memory_total_bytes],
  ] as const) {
    const line = `ollama_gateway_worker_${name}{worker="node-1"} ${value}`
    assert.ok(text.includes(`\n${line}\n`), line)
  }

  await using other = await startRig({
    workerConfig: { telemetry_url: `${rig.opsUrl}/telemetry` },
  })
  await figuresOf(other, 'node-1')
  assert.equal(vramOf(other, 'node-1'), 22_000 * MIB)
})
