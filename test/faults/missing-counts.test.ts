// Token counts that are missing, zero or twice there: what is booked is right, or says that it is
// an estimate. Never a zero that makes use free, never NaN.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { chatBody } from '../support/sim-client.ts'

const sse = (...data: unknown[]): string[] => [
  ...data.map((one) => `data: ${JSON.stringify(one)}\n\n`),
  'data: [DONE]\n\n',
]
const delta = (usage: unknown) => ({ choices: [{ index: 0, delta: { content: 'a' } }], usage })
const ZERO = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
const REAL = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 }
const native = (more: object): string =>
  `${JSON.stringify({ model: 'alpha:8b', done: false, message: { content: 'a' }, ...more })}\n`
const end = (more: object): string =>
  native({ message: { content: '' }, done: true, done_reason: 'stop', ...more })

interface Case {
  name: string
  path: string
  chunks: readonly string[]
  /** undefined: an estimate above zero. */
  prompt: number | undefined
  output: number | undefined
}

const CASES: readonly Case[] = [
  {
    name: 'B068 zeros, then real',
    path: '/v1/chat/completions',
    chunks: sse(delta(ZERO), delta(ZERO), { choices: [], usage: REAL }),
    prompt: 11,
    output: 5,
  },
  {
    name: 'B068 nulls, then real',
    path: '/v1/chat/completions',
    chunks: sse(delta(null), delta(null), { choices: [], usage: REAL }),
    prompt: 11,
    output: 5,
  },
  {
    name: 'B068 real, then null',
    path: '/v1/chat/completions',
    chunks: sse(delta(null), { choices: [], usage: REAL }, delta(null)),
    prompt: 11,
    output: 5,
  },
  {
    name: 'B068 real, then zeros',
    path: '/v1/chat/completions',
    chunks: sse({ choices: [], usage: REAL }, delta(ZERO)),
    prompt: 11,
    output: 5,
  },
  {
    name: 'B068 growing',
    path: '/v1/chat/completions',
    chunks: sse(
      delta({ prompt_tokens: 11, completion_tokens: 1 }),
      delta({ prompt_tokens: 11, completion_tokens: 2 }),
      { choices: [], usage: REAL },
    ),
    prompt: 11,
    output: 5,
  },
  {
    name: 'B070 no usage at all',
    path: '/v1/chat/completions',
    chunks: sse(delta(undefined), delta(undefined), delta(undefined)),
    prompt: undefined,
    output: undefined,
  },
  {
    name: 'B070 only zeros',
    path: '/v1/chat/completions',
    chunks: sse(delta(ZERO), delta(ZERO), delta(ZERO)),
    prompt: undefined,
    output: undefined,
  },
  {
    name: 'B070 a last line without counts',
    path: '/api/chat',
    chunks: [native({}), native({}), end({})],
    prompt: undefined,
    output: undefined,
  },
  {
    name: 'B070 counts that are no numbers',
    path: '/api/chat',
    chunks: [native({}), end({ prompt_eval_count: 'x', eval_count: null })],
    prompt: undefined,
    output: undefined,
  },
  {
    name: 'B070 negative and broken counts',
    path: '/api/chat',
    chunks: [native({}), end({ prompt_eval_count: -5, eval_count: 1.5 })],
    prompt: undefined,
    output: undefined,
  },
  {
    name: 'B071 a cached prompt is not counted',
    path: '/api/chat',
    chunks: [
      native({}),
      end({ eval_count: 9, eval_duration: 900_000_000, prompt_eval_cached_count: 40 }),
    ],
    prompt: undefined,
    output: 9,
  },
  {
    name: 'B071 the same for generate',
    path: '/api/generate',
    chunks: [
      '{"model":"alpha:8b","response":"a","done":false}\n',
      '{"model":"alpha:8b","response":"","done":true,"eval_count":9}\n',
    ],
    prompt: undefined,
    output: 9,
  },
]

suite('what is booked where counts are missing', { concurrency: true }, () => {
  for (const { name, path, chunks, prompt, output } of CASES) {
    test(name, async () => {
      await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
      await rig.sims[0]?.faults.add({ kind: 'script', chunks: [...chunks], gapMs: 5, path })
      const body = STREAM_REQUESTS.find((request) => request.path === path)?.body
      const answer = await rig.post(path, { model: 'alpha:8b', ...body, stream: true })
      assert.equal(await answer.text(), chunks.join(''), 'the answer itself is not touched')
      const done = await rig.logged('request.done')
      assert.equal(done['outcome'], 'ok')
      assert.equal(done['estimated'], prompt === undefined || output === undefined)
      if (prompt === undefined) assert.ok(Number(done['prompt_tokens']) > 0)
      else assert.equal(done['prompt_tokens'], prompt)
      if (output === undefined) assert.ok(Number(done['output_tokens']) > 0)
      else assert.equal(done['output_tokens'], output)
      await assertSoundMetrics(rig)
    })
  }
})

// B071: a prompt that was cached says nothing of how fast prompts are read: no sample is made of
// it, and the rate that was learned stays.
test('a cached prompt leaves the prompt rate alone', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const [sim] = rig.sims
  const counts = { eval_count: 10, eval_duration: 1_000_000_000 }
  const first = [
    native({}),
    end({ ...counts, prompt_eval_count: 100, prompt_eval_duration: 500_000_000 }),
  ]
  const second = [
    native({}),
    end({ ...counts, prompt_eval_cached_count: 100, prompt_eval_duration: 1_000 }),
  ]
  for (const chunks of [first, second]) {
    await sim?.faults.add({ kind: 'script', chunks, path: '/api/chat', times: 1 })
    await (await rig.post('/api/chat', chatBody('alpha:8b'))).text()
  }
  await rig.quiet()
  const rates = rig.gateway.parts.fleet.worker('node-1')?.rates.get('alpha:8b')
  assert.equal(rates?.promptPerS, 200)
  assert.equal(rates?.outputPerS, 10)
})

async function assertSoundMetrics(rig: Rig): Promise<void> {
  const metrics = await (await fetch(`${rig.opsUrl}/metrics`)).text()
  assert.doesNotMatch(metrics, /NaN|undefined/)
}
