// Makes up an answer: words from the seeded generator, at the pace that is set,
// counted and timed as llama-server would. Scripted answers take its place.

import { sleep } from './clock.ts'
import { SimError, llamaServerError } from './errors.ts'
import type { ScriptedAnswer } from './faults.ts'
import type { Job, Logprob, Part, Result } from './job.ts'
import { countTokens, renderPrompt, truncatedTokens, type SimModel } from './models.ts'
import { WORDS } from './random.ts'
import type { Runner } from './runner.ts'
import type { Sim } from './sim.ts'

export interface Run {
  sim: Sim
  runner: Runner
  model: SimModel
  job: Job
  think: boolean
  numPredict: number | undefined
  script: ScriptedAnswer | undefined
  /** Bytes of one huge line, where a fault asks for it. */
  hugeBytes: number | undefined
  startedAt: number
  loadNs: number
  /** Aborted when the client leaves or the runner dies. */
  signal: AbortSignal
}

/** Yields the parts of an answer in time and returns the account of it. */
export async function* generate(run: Run): AsyncGenerator<Part, Result, void> {
  const { sim, signal } = run
  const promptTokens = readPrompt(run)
  const promptBegan = sim.clock.now()
  await sleep(sim.clock, sim.settings.prefillMs, signal)
  const parts = compose(run)
  const evalBegan = sim.clock.now()
  const whole = { content: '', thinking: '', logprobs: [] as Logprob[] }
  for (const [index, part] of parts.entries()) {
    if (index > 0) await sleep(sim.clock, sim.settings.tokenMs, signal)
    whole.content += part.content
    whole.thinking += part.thinking
    whole.logprobs.push(...(part.logprobs ?? []))
    if (part.content !== '' || part.thinking !== '') yield part
  }
  const evalTokens = run.script?.evalTokens ?? parts.length
  const toolCalls = (run.script?.toolCalls ?? []).map((call) => ({
    ...call,
    id: `call_${sim.random.text(8)}`,
  }))
  if (toolCalls.length > 0) yield { content: '', thinking: '', toolCalls, logprobs: undefined }
  return {
    ...whole,
    toolCalls,
    logprobs: run.job.logprobs ? whole.logprobs : undefined,
    doneReason: run.script?.doneReason ?? reasonOf(run, parts.length),
    promptTokens,
    evalTokens,
    context: contextOf(run, promptTokens + evalTokens),
    times: {
      total: elapsed(run, run.startedAt),
      load: run.loadNs,
      promptEval: elapsed(run, promptBegan),
      eval: elapsed(run, evalBegan),
    },
  }
}

/** Checks what only the runner checks, and counts the prompt. */
function readPrompt(run: Run): number {
  const { model, job, runner, script } = run
  checkFormat(job.format)
  if (job.images > 0 && !model.capabilities.includes('vision') && run.sim.features.llamaServer) {
    throw llamaServerError({
      code: 400,
      message: 'Multimodal data provided, but model does not support multimodal requests.',
      type: 'invalid_request_error',
    })
  }
  const tokens = script?.promptTokens ?? countTokens(model, promptText(run))
  if (tokens < runner.numCtx) return tokens
  if (!job.truncate && run.sim.features.truncateFlag) throw tooLong(run, tokens)
  return truncatedTokens(tokens, runner.numCtx)
}

export function promptText({ model, job, think }: Pick<Run, 'model' | 'job' | 'think'>): string {
  if (job.raw) return job.messages.at(-1)?.content ?? ''
  const system = job.system === '' ? model.system : job.system
  return renderPrompt(model, { ...job, system, think })
}

function tooLong({ sim, runner }: Run, tokens: number): SimError {
  if (!sim.features.llamaServer) {
    return new SimError(400, 'the input length exceeds the context length', { from: 'running' })
  }
  return llamaServerError({
    code: 400,
    message: `request (${tokens} tokens) exceeds the available context size (${runner.numCtx} tokens), try increasing it`,
    type: 'exceed_context_size_error',
    n_prompt_tokens: tokens,
    n_ctx: runner.numCtx,
  })
}

const SCHEMA_TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

function checkFormat(format: unknown): void {
  if (format === undefined || format === null || format === '' || format === 'json') return
  if (typeof format !== 'object') {
    const shown = JSON.stringify(JSON.stringify(format))
    throw new SimError(
      500,
      `invalid format: ${shown}; expected "json" or a valid JSON Schema object`,
      { from: 'running' },
    )
  }
  const type = 'type' in format ? format.type : undefined
  if (type === undefined || (typeof type === 'string' && SCHEMA_TYPES.has(type))) return
  throw llamaServerError({
    code: 400,
    message: `Field 'json_schema': "json_schema": JSON schema conversion failed:\nUnrecognized schema: ${JSON.stringify(format)}`,
    type: 'invalid_request_error',
  })
}

/** One part per token. */
function compose(run: Run): Part[] {
  const { script, sim, numPredict, think, job } = run
  if (script !== undefined) {
    return [
      ...(script.thinking ?? []).map((thinking) => partOf(run, '', thinking)),
      ...(script.content ?? []).map((content) => partOf(run, content, '')),
    ]
  }
  if (run.hugeBytes !== undefined && job.kind === 'chat') {
    return [partOf(run, 'x'.repeat(run.hugeBytes), '')]
  }
  const total = Math.min(sim.settings.tokens, numPredict ?? Infinity)
  const thoughts = think ? thinkingShare(sim.settings.tokens, total) : 0
  return Array.from({ length: total }, (_, index) => {
    const word = sim.random.pick(WORDS)
    if (index >= thoughts) return partOf(run, ` ${word}`, '')
    return partOf(run, '', index === 0 ? word : ` ${word}`)
  })
}

/** A model thinks for the first half of what it would say, however early it is stopped. */
const thinkingShare = (wanted: number, total: number): number =>
  Math.min(total, Math.ceil(wanted / 2))

function partOf(run: Run, content: string, thinking: string): Part {
  const token = content + thinking
  const logprobs = run.job.logprobs ? [logprobOf(run, token)] : undefined
  return { content, thinking, toolCalls: [], logprobs }
}

function logprobOf({ sim, job }: Run, token: string): Logprob {
  const one = (text: string, logprob: number) => ({
    token: text,
    logprob,
    bytes: [...Buffer.from(text)],
  })
  const chosen = one(token, -sim.random.next())
  if (job.topLogprobs === 0) return chosen
  const others = Array.from({ length: job.topLogprobs - 1 }, () =>
    one(` ${sim.random.pick(WORDS)}`, -1 - sim.random.next()),
  )
  return { ...chosen, top_logprobs: [chosen, ...others] }
}

function reasonOf({ sim, numPredict }: Run, tokens: number): 'stop' | 'length' {
  return numPredict !== undefined && tokens >= numPredict && numPredict <= sim.settings.tokens
    ? 'length'
    : 'stop'
}

/** About the digits of one token id and its comma. */
const BYTES_PER_TOKEN_ID = 4

function contextOf(run: Run, tokens: number): readonly number[] | undefined {
  if (run.job.kind === 'chat' || run.job.raw) return undefined
  const length =
    run.hugeBytes === undefined ? tokens : Math.ceil(run.hugeBytes / BYTES_PER_TOKEN_ID)
  return Array.from({ length }, (_, index) => 100 + ((index * 37) % 900))
}

/** Whole nanoseconds, never zero: Ollama leaves a zero out, and no real run takes none. */
function elapsed({ sim }: Run, since: number): number {
  return Math.max(1, Math.round((sim.clock.now() - since) * 1e6)) + sim.random.int(900_000) + 1000
}
