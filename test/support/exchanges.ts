// Recorded exchanges with a real Ollama, and how each is played again: what has to
// have happened before, and what happens meanwhile.

import { readFileSync } from 'node:fs'
import type { ModelSpec, SimulatedWorker, WorkerOptions } from '../../src/cli/simulator/worker.ts'
import { shapeOf, type AnswerShape } from './exchange-shape.ts'
import { send, type RawRequest } from './raw-client.ts'

export interface Exchange {
  name: string
  note?: string
  request: RawRequest
  answer: AnswerShape
}

const FOLDER = 'test/fixtures/exchanges'

export const EXCHANGE_FILES = [
  'general',
  'native',
  'openai',
  'anthropic',
  'management',
  'scheduler',
]

export const readExchanges = (file: string): Exchange[] =>
  (JSON.parse(readFileSync(`${FOLDER}/${file}.json`, 'utf8')) as Exchange[]).map(unabbreviated)

export const readModels = (): ModelSpec[] =>
  JSON.parse(readFileSync(`${FOLDER}/models.json`, 'utf8')) as ModelSpec[]

/** Long prompts are recorded in short. */
function unabbreviated(exchange: Exchange): Exchange {
  const short = 'word word word word word … (3,000 words)'
  const body = exchange.request.body?.replace(short, 'word '.repeat(3000)) ?? null
  return { ...exchange, request: { ...exchange.request, body } }
}

/** The settings of the recorded server, made quick. */
export const RECORDED: WorkerOptions = {
  version: '0.33.0',
  cloud: 'disabled',
  registry: 'unreachable',
  gpuShare: 0,
  loadMs: 1,
  // No answer of the recording but one ends by itself.
  tokens: 1000,
}

const chat = (model: string, more: Record<string, unknown> = {}): RawRequest => ({
  method: 'POST',
  path: '/api/chat',
  headers: [['Connection', 'close']],
  body: JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'hi' }],
    stream: false,
    ...more,
  }),
})

const withContext = (num_ctx: number): RawRequest[] => [
  chat('think'),
  chat('chat', { options: { num_ctx, num_predict: 1 } }),
]

const copyOfChat: RawRequest = {
  method: 'POST',
  path: '/api/copy',
  headers: [['Connection', 'close']],
  body: '{"source":"chat","destination":"chat-copy"}',
}

/** What was asked of the server before, as far as the answer depends on it. */
const BEFORE: Readonly<Record<string, readonly RawRequest[]>> = {
  'ps-loaded': [chat('chat')],
  'ps-forever': [chat('think'), chat('chat', { keep_alive: -1 })],
  'ps-after-num-ctx-float': withContext(4096.9),
  'ps-after-num-ctx-huge': withContext(1_000_000_000),
  'ps-after-num-ctx-zero': withContext(0),
  'chat-unload': [chat('chat')],
  'generate-unload': [chat('chat')],
  delete: [copyOfChat],
}

/** The words that the recorded model happened to say, where its silence shows. */
const SAID: Readonly<
  Record<string, { content: string[]; doneReason: 'stop' | 'length'; evalTokens: number }>
> = {
  'v1-chat-max-completion-tokens': { content: [' a', ' b'], doneReason: 'stop', evalTokens: 5 },
  'messages-system-blocks': { content: [], doneReason: 'length', evalTokens: 2 },
}

/** How a foreign Host was asked for; the recording leaves the Host header out. */
const HOSTS: Readonly<Record<string, string>> = { 'host-foreign': 'evil.example' }

export async function play(worker: SimulatedWorker, exchange: Exchange): Promise<AnswerShape> {
  const { name } = exchange
  for (const request of BEFORE[name] ?? []) await send(worker.port, request).answer
  if (name === 'v1-models') worker.models.replace(inOrder(readModels()))
  const said = SAID[name]
  if (said !== undefined) await worker.faults.add({ kind: 'answer', ...said })
  const host = HOSTS[name]
  const request = { ...exchange.request, ...(host === undefined ? {} : { host }) }
  if (name.startsWith('killed-')) return playKilled(worker, request)
  if (name === 'client-leaves') {
    worker.set({ tokenMs: 2 })
    return shapeOf(await send(worker.port, request, { leaveAfterChunks: 3 }).answer)
  }
  if (name === 'sched-second-waits') return playSecond(worker, request)
  if (name === 'sched-queue-full') return playCrowd(worker, request)
  return shapeOf(await send(worker.port, request).answer)
}

/** Within one second of change a real worker's order is that of a Go map: any. */
function inOrder(models: readonly ModelSpec[]): ModelSpec[] {
  const order = ['slow', 'insert', 'embed', 'chat', 'plain', 'think']
  const rank = ({ name }: ModelSpec): number => order.indexOf(name.replace(':latest', ''))
  return models.toSorted((a, b) => rank(a) - rank(b))
}

/** The runner's process is killed in the middle of an answer. */
async function playKilled(worker: SimulatedWorker, request: RawRequest): Promise<AnswerShape> {
  worker.set({ tokenMs: 2 })
  worker.record.reset()
  const { answer } = send(worker.port, request)
  const streams = JSON.parse(request.body ?? '{}').stream !== false
  if (streams) await worker.waitFor('chunk-sent', { count: 6 })
  else await worker.waitFor('slot-taken')
  worker.scheduler.kill('slow')
  return shapeOf(await answer)
}

/** Another request runs on the only slot. */
async function playSecond(worker: SimulatedWorker, request: RawRequest): Promise<AnswerShape> {
  worker.set({ tokenMs: 2 })
  worker.record.reset()
  const first = send(worker.port, chat('slow', { options: { num_predict: 30 } }))
  await worker.waitFor('slot-taken')
  const second = send(worker.port, request)
  await worker.waitFor('slot-wait', { count: 2 })
  await first.answer
  return shapeOf(await second.answer)
}

/** More requests than may wait for a load: the first of those that are turned away. */
async function playCrowd(worker: SimulatedWorker, request: RawRequest): Promise<AnswerShape> {
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send(worker.port, request).answer),
  )
  const refused = answers.filter(({ status }) => status === 503)
  if (refused.length !== 5 || refused[0] === undefined) {
    throw new Error(`five of eight are turned away by a real one, not ${refused.length}`)
  }
  return shapeOf(refused[0])
}
