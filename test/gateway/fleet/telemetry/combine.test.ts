import assert from 'node:assert/strict'
import { test } from 'node:test'
import { combine, noReading } from '../../../../src/gateway/fleet/telemetry/combine.ts'
import {
  namesMig,
  parseMigParents,
  selectGpus,
} from '../../../../src/gateway/fleet/telemetry/gpu-selection.ts'
import type { GpuReading } from '../../../../src/gateway/fleet/worker.ts'

const gpu = (index: number, changes: Partial<GpuReading> = {}): GpuReading => ({
  id: `GPU-${String(index).repeat(8)}-1`,
  index,
  name: 'X',
  utilization: 0.5,
  vramUsedBytes: 10,
  vramTotalBytes: 24,
  vramReservedBytes: 1,
  temperatureC: 40 + index,
  powerW: 100,
  ...changes,
})
const memory = { usedBytes: 3, totalBytes: 8 }

test('several GPUs: sums, the mean load, the highest temperature', () => {
  const local = { gpus: [gpu(0), gpu(1, { utilization: 1 })], memory }
  const { gpus, ...sums } = combine(local, noReading) ?? { gpus: [] }
  assert.equal(gpus.length, 2)
  assert.deepEqual(sums, {
    vramUsedBytes: 20,
    vramTotalBytes: 48,
    vramReservedBytes: 2,
    gpuUtilization: 0.75,
    temperatureC: 41,
    powerW: 200,
    memoryUsedBytes: 3,
    memoryTotalBytes: 8,
  })
})

// B138
test('memory that one GPU does not tell is unknown for all, the rest is kept', () => {
  for (const changes of [{ vramUsedBytes: undefined }, { vramTotalBytes: undefined }]) {
    const telemetry = combine({ gpus: [gpu(0), gpu(1, changes)], memory: undefined }, noReading)
    assert.equal(telemetry?.vramUsedBytes, undefined)
    assert.equal(telemetry?.vramTotalBytes, undefined)
    assert.equal(telemetry?.gpuUtilization, 0.5)
  }
})

test('remote figures override local ones, and fill in nothing that they lack', () => {
  const remote = {
    gpus: [gpu(5, { temperatureC: undefined, vramUsedBytes: 20 })],
    memory: undefined,
  }
  const telemetry = combine({ gpus: [gpu(0)], memory }, remote)
  assert.equal(telemetry?.vramUsedBytes, 20)
  assert.equal(telemetry?.temperatureC, 40)
  assert.equal(telemetry?.memoryTotalBytes, 8)
  assert.deepEqual(
    telemetry?.gpus.map(({ index }) => index),
    [5],
  )
  assert.equal(combine(noReading, noReading), undefined)
})

// B143
const SELECTIONS: readonly [selection: string | null, chosen: number[], missing: string[]][] = [
  [null, [0, 1, 2], []],
  ['1', [1], []],
  ['2, 0', [0, 2], []],
  ['GPU-11111111-1', [1], []],
  ['gpu-22222222', [2], []],
  ['0,0', [0], []],
  ['7', [], ['7']],
  ['1,GPU-9', [1], ['GPU-9']],
  ['MIG-c', [1], []],
]
for (const [selection, chosen, missing] of SELECTIONS) {
  test(`nvidia_gpu ${selection} selects ${chosen.join(' and ') || 'nothing'}`, () => {
    const parents = new Map([['mig-c', 'GPU-11111111-1']])
    const selected = selectGpus([gpu(0), gpu(1), gpu(2)], selection, parents)
    assert.deepEqual(
      selected.gpus.map(({ index }) => index),
      chosen,
    )
    assert.deepEqual(selected.missing, missing)
  })
}

test('instances of MIG and the GPUs that they are cut from', () => {
  const listing = [
    'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)',
    '  MIG 1g.10gb     Device  0: (UUID: MIG-C)',
    '  MIG 1g.10gb     Device  1: (UUID: MIG-d)',
    'GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-b)',
    '  MIG 1g.10gb     Device  0: (UUID: MIG-e)',
  ].join('\n')
  assert.deepEqual(Object.fromEntries(parseMigParents(listing)), {
    'mig-c': 'GPU-a',
    'mig-d': 'GPU-a',
    'mig-e': 'GPU-b',
  })
  assert.equal(namesMig('0, MIG-e'), true)
  assert.equal(namesMig('0'), false)
})
