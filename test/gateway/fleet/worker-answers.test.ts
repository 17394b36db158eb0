import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  newInternedTags,
  readLoaded,
  readShow,
  readTags,
} from '../../../src/gateway/fleet/worker-answers.ts'
import type { Installed } from '../../../src/gateway/fleet/worker.ts'

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const tags = (value: unknown) => readTags(json(value), newInternedTags())

test('odd lists', () => {
  assert.equal(tags({ models: null })?.size, 0)
  assert.equal(tags({ models: [] })?.size, 0)
  assert.equal(tags({})?.size, 0)
  assert.equal(tags([]), undefined)
  assert.equal(tags({ models: 'x' }), undefined)
  assert.equal(readTags(Buffer.from('<html>'), newInternedTags()), undefined)
  const models = [null, 7, { name: '' }, { name: 'bad name' }, { name: 'old:1b' }]
  const [[key, row]] = [...(tags({ models }) ?? [])] as [[string, Installed]]
  assert.equal(key, 'old:1b')
  assert.equal(row.model.capabilities, undefined, 'absent is unknown, not none')
  assert.equal(row.model.contextLength, undefined)
})

test('a loaded model without context_length has an unknown one', () => {
  const models = [{ name: 'M:1b', size: 5, size_vram: 3, digest: 'd', expires_at: 'then' }]
  const loaded = readLoaded(json({ models }))?.get('m:1b')
  assert.deepEqual(loaded, {
    name: 'M:1b',
    key: 'm:1b',
    digest: 'd',
    size: 5,
    sizeVram: 3,
    contextLength: undefined,
    expiresAt: 'then',
    details: {},
  })
})

// B118: what an old or odd worker does not say is unknown.
const shows: [name: string, body: unknown, capabilities: unknown, max: unknown, numCtx: unknown][] =
  [
    ['nothing', {}, undefined, undefined, undefined],
    ['null capabilities', { capabilities: null }, undefined, undefined, undefined],
    ['none', { capabilities: [] }, [], undefined, undefined],
    [
      'trained context',
      { model_info: { 'general.architecture': 'qwen3', 'qwen3.context_length': 40960 } },
      undefined,
      40960,
      undefined,
    ],
    ['empty model_info', { model_info: {} }, undefined, undefined, undefined],
    ['null model_info', { model_info: null }, undefined, undefined, undefined],
    [
      'num_ctx as Go prints it',
      { parameters: 'stop    "a"\nnum_ctx                        1.048576e+06\ntemperature 1' },
      undefined,
      undefined,
      1048576,
    ],
    [
      'num_ctx in a string is none',
      { parameters: 'stop "num_ctx 4"' },
      undefined,
      undefined,
      undefined,
    ],
    ['num_ctx nonsense', { parameters: 'num_ctx   NaN' }, undefined, undefined, undefined],
  ]
for (const [name, body, capabilities, contextMax, modelfileNumCtx] of shows) {
  test(`show: ${name}`, () => {
    assert.deepEqual(readShow(json(body), 'd'), {
      digest: 'd',
      capabilities,
      contextMax,
      modelfileNumCtx,
    })
  })
}

test('show: a page is no answer', () => {
  assert.equal(readShow(Buffer.from('<html>'), 'd'), undefined)
})

// 100,000 rows: a record of its own for each would be some 100 MB. Different dates are the worst
// case, because then no two lists are alike.
test('200 workers with 500 models each stay small', () => {
  const interned = newInternedTags()
  const model = (index: number, worker: number) => ({
    name: `family${index}:8b`,
    model: `family${index}:8b`,
    modified_at: `2026-08-01T09:12:33.${String(worker).padStart(9, '0')}+02:00`,
    size: 5_225_388_164 + index,
    digest: String(index).padStart(64, 'a'),
    details: {
      parent_model: '',
      format: 'gguf',
      family: 'qwen3',
      families: ['qwen3'],
      parameter_size: '8.2B',
      quantization_level: 'Q4_K_M',
      context_length: 40960,
      embedding_length: 4096,
    },
    capabilities: ['completion', 'tools', 'thinking'],
  })
  const before = heapMiB()
  const fleet = Array.from({ length: 200 }, (_, worker) =>
    readTags(
      json({ models: Array.from({ length: 500 }, (_, index) => model(index, worker)) }),
      interned,
    ),
  )
  const used = heapMiB() - before
  assert.equal(
    fleet.reduce((sum, list) => sum + (list?.size ?? 0), 0),
    100_000,
  )
  assert.equal(interned.models.size, 500)
  assert.ok(used < 25, `${used.toFixed(1)} MiB for the lists of 200 workers`)
  const first = fleet[0]?.get('family7:8b')
  assert.equal(first?.model, fleet[199]?.get('family7:8b')?.model)
})

/** What is still held, not what has not been collected yet. */
function heapMiB(): number {
  setFlagsFromString('--expose-gc')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the flag above makes it exist
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed / 1_048_576
}

test('the recorded answers of a real server are understood', () => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a fixture: bodies by name
  const bodies = JSON.parse(readFileSync('test/fixtures/fleet/answers.json', 'utf8')) as Record<
    string,
    string
  >
  const bodyOf = (name: string) => Buffer.from(bodies[name] ?? assert.fail(`no ${name}`))
  const installed = readTags(bodyOf('tags'), newInternedTags())
  const { model } = installed?.get('think:latest') ?? assert.fail('no think')
  assert.deepEqual(model.capabilities, ['completion', 'tools', 'thinking'])
  assert.equal(model.contextLength, 32768)
  assert.equal(readLoaded(bodyOf('ps-loaded'))?.get('chat:latest')?.contextLength, 4096)
  assert.equal(readShow(bodyOf('show-plain'), '')?.modelfileNumCtx, 2048)
  assert.equal(readShow(bodyOf('show-embed'), '')?.contextMax, 512)
})
