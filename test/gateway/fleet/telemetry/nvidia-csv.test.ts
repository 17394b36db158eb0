import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OLD_FIELDS, parseRow } from '../../../../src/gateway/fleet/telemetry/nvidia-csv.ts'
import { TickReader } from '../../../../src/gateway/fleet/telemetry/nvidia-ticks.ts'
import { FIELDS } from '../../../../src/gateway/fleet/telemetry/nvidia-csv.ts'

const UUID = 'GPU-9f0b4d8c-1111-2222-3333-444455556666'
const MIB = 1024 * 1024

test('a row as a real driver prints it', () => {
  const row = `0, ${UUID}, NVIDIA GeForce RTX 4080 SUPER, 37, 596, 16376, 43, 26.20, 434`
  assert.deepEqual(parseRow(row), {
    id: UUID,
    index: 0,
    name: 'NVIDIA GeForce RTX 4080 SUPER',
    utilization: 0.37,
    vramUsedBytes: 596 * MIB,
    vramTotalBytes: 16376 * MIB,
    vramReservedBytes: 434 * MIB,
    temperatureC: 43,
    powerW: 26.2,
  })
})

// B136
const TOKENS = [
  '[N/A]',
  'N/A',
  '[Not Supported]',
  '[Unknown Error]',
  '[Insufficient Permissions]',
  '[Function Not Found]',
  '[Requested functionality has been deprecated]',
  '[GPU is lost]',
  '',
  'NaN',
  'Infinity',
  '-1',
]
const FIGURES = [
  ['utilization', '37'],
  ['vramUsedBytes', '596'],
  ['vramTotalBytes', '16376'],
  ['temperatureC', '43'],
  ['powerW', '26.20'],
  ['vramReservedBytes', '434'],
] as const

for (const token of TOKENS) {
  test(`"${token}" in any column is unknown and spoils no other`, () => {
    for (const [place, [figure]] of FIGURES.entries()) {
      const cells = FIGURES.map(([, text], index) => (index === place ? token : text))
      const gpu = parseRow(`3,  ${UUID} , NVIDIA, Inc. X, ${cells.join(', ')} \r`)
      assert.ok(gpu)
      assert.equal(gpu.name, 'NVIDIA, Inc. X')
      for (const [name] of FIGURES) {
        if (name === figure) assert.equal(gpu[name], undefined, name)
        else assert.ok(Number.isFinite(gpu[name]), name)
      }
    }
  })
}

// B138
test('a board without memory of its own has no total, not one of 0', () => {
  const gpu = parseRow(`0, ${UUID}, NVIDIA GB10, 87, 0, 0, 61, 45, [N/A]`)
  assert.equal(gpu?.vramTotalBytes, undefined)
  assert.equal(gpu?.utilization, 0.87)
})

test('what is no row', () => {
  for (const line of [
    '',
    'No devices were found',
    'index, uuid, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], a, b, c',
    'Unable to determine the device handle for GPU0001: 0000:02:00.0: GPU is lost.',
    '0, GPU-1, cut',
  ]) {
    assert.equal(parseRow(line), undefined, line)
  }
})

test('a row without the newest field', () => {
  const gpu = parseRow(`0, ${UUID}, RTX, 37, 596, 16376, 43, 26.20`, OLD_FIELDS)
  assert.equal(gpu?.powerW, 26.2)
  assert.equal(gpu?.vramReservedBytes, undefined)
})

const row = (index: number): string => `${index}, GPU-${index}, RTX, 1, 2, 3, 4, 5, 6\n`

test('a tick ends when a GPU comes again, wherever the text is cut', () => {
  const text = row(0) + row(1) + '\r\n\n' + row(0) + row(1) + row(0)
  for (let size = 1; size < 40; size += 1) {
    const reader = new TickReader(FIELDS)
    const ticks = []
    for (let at = 0; at < text.length; at += size)
      ticks.push(...reader.push(text.slice(at, at + size)))
    assert.deepEqual(
      ticks.map(({ gpus, disturbed }) => [gpus.map(({ index }) => index), disturbed]),
      [
        [[0, 1], false],
        [[0, 1], false],
      ],
    )
    assert.equal(reader.end()?.gpus.length, 1)
  }
})

test('garbage is bounded, counted and quoted at its beginning', () => {
  const reader = new TickReader(FIELDS)
  for (let i = 0; i < 100; i += 1) reader.push('x'.repeat(50_000))
  assert.ok(reader.strayLength > 4_000_000)
  assert.equal(reader.said.length, 200)
  assert.equal(reader.close(), undefined)
})

test('trouble between rows marks its tick', () => {
  const reader = new TickReader(FIELDS)
  const [tick] = reader.push(`${row(0)}GPU is lost\n${row(0)}`)
  assert.equal(tick?.disturbed, true)
  assert.equal(reader.said, 'GPU is lost')
})
