// /api/embed, the older /api/embeddings and /v1/embeddings: three shapes of the
// same vectors.

import { bind, bindingError, numberOf, objectOf, textOf } from '../bind.ts'
import { EMBED_REQUEST, EMBEDDINGS_REQUEST, type Struct } from '../decode.ts'
import { SimError } from '../errors.ts'
import { nativeError } from '../form-native.ts'
import { openaiError } from '../form-openai.ts'
import { goJson } from '../go-json.ts'
import { withPermit, withRunner } from '../hold.ts'
import { contextOf, strikeMemory } from '../infer.ts'
import { notFound, resolve } from '../resolve.ts'
import type { Body, SimErrorLike } from '../job.ts'
import type { SimModel } from '../models.ts'
import { parseName } from '../names.ts'
import { readOptions } from '../options.ts'
import { hashOf, seededRandom, WORDS } from '../random.ts'
import { StreamBroken } from '../reply.ts'
import { SchedulerError } from '../scheduler.ts'
import { JSON_UTF8, type Exchange, type Sim } from '../sim.ts'

interface EmbedJob {
  model: SimModel
  inputs: readonly string[]
  truncate: boolean
  dimensions: number
  keepAliveMs: number | undefined
  options: Readonly<Record<string, unknown>>
}

interface Embedded {
  vectors: readonly (readonly number[])[]
  promptTokens: number
  totalNs: number
  loadNs: number
}

const NO_EMBEDDINGS = 'This server does not support embeddings. Start it with `--embeddings`'

export async function embedRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, nativeError, async () => {
    const request = bind(exchange, EMBED_REQUEST, 'api.EmbedRequest')
    const name = textOf(request['model'])
    const job = jobOf(exchange.sim, request, inputsOf(request['input']))
    const { vectors, ...rest } = await embed(exchange, job)
    const counted = job.inputs.length > 0
    return {
      contentType: JSON_UTF8,
      body: goJson({
        model: name,
        embeddings: vectors.map((vector) => vector.map(Math.fround).map(shortFloat)),
        total_duration: counted ? rest.totalNs : undefined,
        load_duration: counted ? rest.loadNs : undefined,
        prompt_eval_count: counted ? rest.promptTokens : undefined,
      }),
    }
  })
}

/** Does not fold the case of the name, unlike all the others. */
export async function legacyEmbeddingsRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, nativeError, async () => {
    const request = bind(exchange, EMBEDDINGS_REQUEST, 'api.EmbeddingRequest')
    const raw = textOf(request['model'])
    if (raw === '') throw new SimError(400, 'model is required')
    const parsed = parseName(raw)
    if (parsed === undefined) throw new SimError(400, 'invalid model name')
    if (exchange.sim.inventory.find(parsed, true) === undefined) throw notFound(raw, 'embed')
    const prompt = textOf(request['prompt'])
    const { vectors } = await embed(
      exchange,
      jobOf(exchange.sim, request, prompt === '' ? [] : [prompt]),
    )
    return { contentType: JSON_UTF8, body: goJson({ embedding: vectors[0] ?? [] }) }
  })
}

const OPENAI_REQUEST: Struct = {
  model: 'string',
  input: 'any',
  encoding_format: 'string',
  dimensions: 'int',
}

export async function openaiEmbeddingsRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, openaiError, async () => {
    const request = bind(exchange, OPENAI_REQUEST, 'openai.EmbedRequest')
    const format = textOf(request['encoding_format'])
    if (format !== '' && format !== 'float' && format !== 'base64') {
      throw bindingError(
        `Invalid value for 'encoding_format' = ${format}. Supported values: ['float', 'base64'].`,
      )
    }
    const input = request['input'] === '' ? [''] : request['input']
    if (input === undefined || (Array.isArray(input) && input.length === 0)) {
      throw bindingError('invalid input')
    }
    const job = jobOf(exchange.sim, request, inputsOf(input))
    const { vectors, promptTokens } = await embed(exchange, job)
    const data = vectors.map((vector, index) => ({
      object: 'embedding',
      embedding: format === 'base64' ? base64Of(vector) : vector.map(Math.fround).map(shortFloat),
      index,
    }))
    const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
    const body = { object: 'list', data, model: textOf(request['model']), usage }
    return { contentType: 'application/json', body: `${goJson(body)}\n` }
  })
}

async function answering(
  exchange: Exchange,
  fail: (error: SimErrorLike) => Body,
  work: () => Promise<Body>,
): Promise<void> {
  let status = 200
  let body: Body
  try {
    body = await work()
  } catch (error) {
    const failure = asEmbedError(error)
    if (failure === undefined || exchange.signal.aborted) throw error
    status = failure.status
    body = fail(failure)
  }
  await exchange.reply.send(status, { 'Content-Type': body.contentType }, body.body)
}

/** Embed takes whatever a runner says for the client's fault. */
function asEmbedError(error: unknown): SimError | undefined {
  if (error instanceof SimError) return error
  if (error instanceof SchedulerError) return new SimError(error.status, error.message)
  if (error instanceof StreamBroken) return new SimError(400, error.message)
  return undefined
}

function inputsOf(input: unknown): readonly string[] {
  if (input === undefined || input === '') return []
  if (typeof input === 'string') return [input]
  if (!Array.isArray(input)) throw new SimError(400, 'invalid input type')
  return input.map((item: unknown) => {
    if (typeof item !== 'string') throw new SimError(400, 'invalid input type')
    return item
  })
}

function jobOf(sim: Sim, request: Record<string, unknown>, inputs: readonly string[]): EmbedJob {
  return {
    model: resolve(sim, textOf(request['model']), 'embed'),
    inputs,
    truncate: request['truncate'] !== false,
    dimensions: sim.features.embedDimensions ? (numberOf(request['dimensions']) ?? 0) : 0,
    keepAliveMs: numberOf(request['keep_alive']),
    options: objectOf(request['options']),
  }
}

async function embed(exchange: Exchange, job: EmbedJob): Promise<Embedded> {
  const { sim, strikes } = exchange
  const { model, inputs } = job
  const startedAt = sim.clock.now()
  const options = readOptions(model, job.options, contextOf(sim))
  strikeMemory(exchange)
  let result: Embedded = { vectors: [], promptTokens: 0, totalNs: 0, loadNs: 0 }
  const wanted = { model, options, job: { shift: true, keepAliveMs: job.keepAliveMs } }
  await withRunner(exchange, wanted, async (runner) => {
    const loadNs = nanosSince(sim, startedAt)
    if (inputs.length === 0) return
    await withPermit(exchange, runner, async () => {
      if (strikes.get('stream_error') !== undefined) throw new StreamBroken('unexpected EOF')
      if (!model.capabilities.includes('embedding')) throw new SimError(501, NO_EMBEDDINGS)
      const tokens = inputs.map((input) => inputTokens(input, runner.numCtx, job.truncate))
      result = {
        vectors: inputs.map((input) => vectorOf(model, input, job.dimensions)),
        promptTokens: tokens.reduce((sum, count) => sum + count, 0),
        totalNs: nanosSince(sim, startedAt),
        loadNs,
      }
    })
  })
  return result
}

const nanosSince = (sim: Sim, since: number): number =>
  Math.round((sim.clock.now() - since) * 1e6) + 500_000 + sim.random.int(500_000)

/** Begin and end, one for a known word, and one per further letter of an unknown one. */
function inputTokens(input: string, context: number, truncate: boolean): number {
  const words = input.split(/\s+/u).filter((word) => word !== '')
  const pieces = words.map((word) => (WORDS.includes(word) ? 1 : Math.max(1, word.length - 1)))
  const tokens = 2 + pieces.reduce((sum, count) => sum + count, 0)
  if (tokens <= context) return tokens
  if (!truncate) throw new SimError(400, 'the input length exceeds the context length')
  return context
}

/** The same text gives the same vector on every worker; its length is one. */
function vectorOf(model: SimModel, text: string, dimensions: number): readonly number[] {
  const random = seededRandom(hashOf(`${model.blob}\n${text}`))
  const whole = Array.from({ length: model.embeddingLength }, () => random.next() * 2 - 1)
  const cut = dimensions > 0 ? whole.slice(0, dimensions) : whole
  const norm = Math.hypot(...cut)
  return cut.map((value) => Math.fround(value / norm))
}

/** Go prints a float32 with the fewest digits that read back the same. */
function shortFloat(value: number): number {
  for (let digits = 6; digits < 10; digits += 1) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return value
}

const base64Of = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')
