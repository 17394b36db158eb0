// Routes that reach ollama.com, and the two media routes: what a worker without
// a network and without an account says there.

import { goJson } from '../go-json.ts'
import { infer } from '../infer.ts'
import { cloudRefusal, resolve } from '../resolve.ts'
import { bind, peekModel, textOf } from '../bind.ts'
import { SimError } from '../errors.ts'
import { nativeError } from '../form-native.ts'
import { openaiError } from '../form-openai.ts'
import { blankJob, type Form, type Job } from '../job.ts'
import { JSON_UTF8, unixSeconds, type Exchange } from '../sim.ts'

export async function meRoute({ reply }: Exchange): Promise<void> {
  await reply.send(503, { 'Content-Type': JSON_UTF8 }, goJson({ error: 'account unavailable' }))
}

const refusal =
  (what: string) =>
  async (exchange: Exchange): Promise<void> => {
    const error = cloudRefusal(exchange.sim, what)
    const { contentType, body } = nativeError(error)
    await exchange.reply.send(error.status, { 'Content-Type': contentType }, body)
  }

export const webSearchRoute = refusal('web search is unavailable')
export const webFetchRoute = refusal('web fetch is unavailable')

const RECOMMENDED = [
  { model: 'kimi-k2.6:cloud', context_length: 262_144, max_output_tokens: 262_144 },
  { model: 'glm-5.1:cloud', context_length: 202_752, max_output_tokens: 131_072 },
  { model: 'qwen3.5:cloud', context_length: 262_144, max_output_tokens: 32_768 },
  { model: 'minimax-m2.7:cloud', context_length: 204_800, max_output_tokens: 128_000 },
  { model: 'gemma4', vram_bytes: 12_000_000_000 },
  { model: 'qwen3.5', vram_bytes: 14_000_000_000 },
]

export async function recommendationsRoute({ reply }: Exchange): Promise<void> {
  const recommendations = RECOMMENDED.map(({ model, ...sizes }) => ({
    model,
    description: 'A simulated recommendation for coding and reasoning',
    ...sizes,
  }))
  await reply.send(200, { 'Content-Type': JSON_UTF8 }, goJson({ recommendations }))
}

/** Go's header was flushed before anybody knew what would follow, so it says NDJSON. */
const TRANSCRIPTION_TYPE = 'application/x-ndjson'

export async function transcriptionRoute(exchange: Exchange): Promise<void> {
  const type = exchange.req.headers['content-type'] ?? ''
  const model = peekModel(Buffer.from(exchange.text, 'latin1'), type) ?? ''
  const hasFile = /name="file"/u.test(exchange.text)
  const problem = transcriptionProblem(type, model, hasFile)
  if (problem !== undefined) {
    const error = new SimError(400, problem, { from: 'binding' })
    const { contentType, body } = openaiError(error)
    await exchange.reply.send(400, { 'Content-Type': contentType }, body)
    return
  }
  const job: Job = { ...blankJob, model, messages: [{ role: 'user', content: 'audio' }] }
  await infer(exchange, job, transcriptionForm())
}

function transcriptionProblem(type: string, model: string, hasFile: boolean): string | undefined {
  if (!type.includes('multipart/form-data')) {
    return "failed to parse multipart form: request Content-Type isn't multipart/form-data"
  }
  if (!hasFile) return 'file is required: http: no such file'
  return model === '' ? 'model is required' : undefined
}

function transcriptionForm(): Form {
  return {
    fail: openaiError,
    single: ({ content }) => ({
      contentType: TRANSCRIPTION_TYPE,
      body: goJson({ text: content.trim() }),
    }),
    stream: {
      contentType: TRANSCRIPTION_TYPE,
      headers: {},
      part: () => [],
      final: ({ content }) => [goJson({ text: content.trim() })],
      broken: () => undefined,
    },
  }
}

export async function imagesRoute(exchange: Exchange): Promise<void> {
  try {
    const request = bind(exchange, { model: 'string', prompt: 'string' }, 'openai.ImageRequest')
    const model = resolve(exchange.sim, textOf(request['model']), 'generate')
    if (!model.capabilities.includes('image')) {
      throw new SimError(400, `${model.full} does not support image generation`)
    }
    const data = [{ b64_json: Buffer.from('simulated image').toString('base64') }]
    const body = goJson({ created: unixSeconds(exchange.sim), data })
    await exchange.reply.send(200, { 'Content-Type': 'application/json' }, `${body}\n`)
  } catch (error) {
    if (!(error instanceof SimError)) throw error
    const { contentType, body } = openaiError(error)
    await exchange.reply.send(error.status, { 'Content-Type': contentType }, body)
  }
}
