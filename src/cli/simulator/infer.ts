// The life of one generation on the worker, in the order in which Ollama checks:
// name, installed, unload, thinking, capabilities, options, schedule, load, run.

import { SimError } from './errors.ts'
import { generate, promptText, type Run } from './engine.ts'
import type { Body, Form, Job, Part, Result } from './job.ts'
import type { SimModel } from './models.ts'
import { parseName, splitSource, type ModelName } from './names.ts'
import { readOptions, type RunOptions } from './options.ts'
import { StreamBroken, type Headers } from './reply.ts'
import type { Runner } from './runner.ts'
import { SchedulerError } from './scheduler.ts'
import type { Exchange, Sim } from './sim.ts'

const RUNNER_FAILED = 'an error was encountered while running the model: '

/** Runs a job and answers in its dialect, whatever happens. */
export async function infer(exchange: Exchange, job: Job, form: Form): Promise<void> {
  try {
    await run(exchange, job, form)
  } catch (error) {
    await answerError(exchange, form, error, job.stream)
  }
}

/** An error before the first byte has its status; later there is only the stream. */
export async function answerError(
  exchange: Exchange,
  form: Form,
  error: unknown,
  stream = false,
): Promise<void> {
  const failure = asSimError(error)
  if (failure === undefined || exchange.signal.aborted) throw error
  const headers: Headers = stream ? form.stream.headers : {}
  const { contentType, body } = form.fail(failure)
  await exchange.reply.send(failure.status, { ...headers, 'Content-Type': contentType }, body)
}

function asSimError(error: unknown): SimError | undefined {
  if (error instanceof SimError) return error
  if (error instanceof SchedulerError) return new SimError(error.status, error.message)
  if (error instanceof StreamBroken) {
    return new SimError(500, RUNNER_FAILED + error.message, { from: 'running' })
  }
  return undefined
}

async function run(exchange: Exchange, job: Job, form: Form): Promise<void> {
  const { sim, strikes, signal } = exchange
  const startedAt = sim.clock.now()
  const model = resolve(sim, job.model, job.kind)
  if (job.empty && job.keepAliveMs === 0) {
    sim.scheduler.expire(model)
    return sendBody(exchange, form.control?.('unload') ?? form.single(controlResult('unload')))
  }
  if (job.raw && job.rawConflict) {
    throw new SimError(400, 'raw mode does not support template, system, or context')
  }
  const think = wantsThinking(sim, model, job)
  checkCapabilities(model, job)
  const options = readOptions(model, job.options, contextOf(sim))
  strikeMemory(exchange)
  await withRunner(exchange, { model, options, job }, async (runner) => {
    if (job.empty) return sendControl(exchange, job, form)
    if (job.debugRender && form.debug !== undefined) {
      return sendBody(exchange, form.debug(promptText({ model, job, think })))
    }
    const loadNs =
      Math.round((sim.clock.now() - startedAt) * 1e6) + 600_000 + sim.random.int(900_000)
    await withPermit(exchange, runner, (running) =>
      answer(
        exchange,
        {
          sim,
          runner,
          model,
          job,
          think,
          numPredict: options.numPredict,
          script: strikes.get('answer'),
          hugeBytes: hugeBytes(exchange),
          startedAt,
          loadNs,
          signal: AbortSignal.any([signal, running]),
        },
        form,
      ),
    )
  })
}

const DEFAULT_HUGE = 2 * 1024 * 1024

function hugeBytes({ strikes }: Exchange): number | undefined {
  const huge = strikes.get('huge_line')
  return huge === undefined ? undefined : (huge.bytes ?? DEFAULT_HUGE)
}

export const contextOf = (sim: Sim): number =>
  sim.settings.defaultContext ?? sim.features.defaultContext

/** The installed model a request means, or the refusal Ollama has for its name. */
export function resolve(sim: Sim, raw: string, kind: 'chat' | 'generate' | 'embed'): SimModel {
  const name = sim.features.cloudSuffix ? withoutSource(sim, raw, kind) : raw
  const parsed = parseModelName(name, kind)
  const model = sim.inventory.find(parsed)
  if (model === undefined) throw notFound(raw, kind)
  if (model.remote !== undefined) throw cloudRefusal(sim)
  return model
}

function withoutSource(sim: Sim, raw: string, kind: 'chat' | 'generate' | 'embed'): string {
  const split = splitSource(raw)
  if ('conflict' in split) throw new SimError(400, split.conflict)
  if (split.source === 'cloud' && kind !== 'embed') throw cloudRefusal(sim)
  return split.name
}

function parseModelName(name: string, kind: 'chat' | 'generate' | 'embed'): ModelName {
  if (name === '' && kind === 'chat') throw new SimError(400, 'model is required')
  if (name === '') throw new SimError(404, "model '' not found")
  const parsed = parseName(name)
  if (parsed === undefined) throw new SimError(400, 'invalid model name')
  return parsed
}

export function notFound(raw: string, kind: 'chat' | 'generate' | 'embed'): SimError {
  if (kind === 'embed') return new SimError(404, `model "${raw}" not found, try pulling it first`)
  return new SimError(404, `model '${raw}' not found`)
}

export function cloudRefusal(sim: Sim, what = 'remote model is unavailable'): SimError {
  switch (sim.settings.cloud) {
    case 'disabled':
      return new SimError(403, `ollama cloud is disabled: ${what}`, { nativeShape: true })
    case 'signin':
      return new SimError(401, 'unauthorized', {
        nativeShape: true,
        extra: { signin_url: 'https://ollama.com/connect?name=simulated&key=c2ltdWxhdGVk' },
      })
    case 'unreachable':
      return new SimError(502, 'Post "https://ollama.com:443/api/chat": dial tcp: no such host', {
        nativeShape: true,
      })
  }
}

function wantsThinking(sim: Sim, model: SimModel, job: Job): boolean {
  if (!sim.features.thinking) return false
  const able = model.capabilities.includes('thinking')
  const asked = job.think !== undefined && job.think !== false
  if (asked && !able && !job.thinkRelaxed) {
    throw new SimError(400, `"${job.model}" does not support thinking`)
  }
  return able && (job.think === undefined ? sim.features.thinkingByDefault : asked)
}

function checkCapabilities(model: SimModel, job: Job): void {
  const can = (capability: string): boolean => model.capabilities.includes(capability)
  if (!can('completion')) throw new SimError(400, `"${job.model}" does not support ${job.kind}`)
  const missing: string[] = []
  if (job.tools.length > 0 && !can('tools')) missing.push('tools')
  if (job.suffix !== '' && !can('insert')) missing.push('insert')
  if (missing.length > 0) {
    throw new SimError(400, `${model.full} does not support ${missing.join('\n')}`)
  }
}

const OUT_OF_MEMORY =
  'llama-server reported out-of-memory during startup: cudaMalloc failed: out of memory'

/** Running out of memory takes every loaded model with it. */
export function strikeMemory({ sim, strikes }: Exchange): void {
  const oom = strikes.get('out_of_memory')
  if (oom !== undefined) {
    sim.scheduler.expireAll()
    throw new SimError(500, oom.message ?? OUT_OF_MEMORY)
  }
}

export interface Wanted {
  model: SimModel
  options: RunOptions
  job: Pick<Job, 'shift' | 'keepAliveMs'>
}

/** Holds a runner while the work lasts; it counts as used even while it waits for a permit. */
export async function withRunner(
  exchange: Exchange,
  { model, options, job }: Wanted,
  work: (runner: Runner) => Promise<void>,
): Promise<void> {
  const { sim, seen, signal } = exchange
  const runner = await sim.scheduler.acquire({
    id: seen.id,
    model,
    numCtx: options.numCtx,
    shift: job.shift,
    keepAliveMs: job.keepAliveMs,
    signal,
  })
  try {
    await work(runner)
  } finally {
    sim.scheduler.release(runner)
  }
}

/** Waits, silently, for one of the runner's permits. The signal is aborted when the runner dies. */
export async function withPermit(
  exchange: Exchange,
  runner: Runner,
  work: (running: AbortSignal) => Promise<void>,
): Promise<void> {
  const { sim, seen, signal, strikes } = exchange
  const tell = (name: 'slot-wait' | 'slot-taken' | 'slot-freed'): void =>
    sim.events.emit({ name, at: sim.clock.now(), requestId: seen.id, model: runner.model.name })
  tell('slot-wait')
  const giveBack = await runner
    .permit(AbortSignal.any([signal, runner.death.signal]))
    .catch(died(runner))
  tell('slot-taken')
  try {
    await work(runner.death.signal)
  } catch (error) {
    throw runner.dead && !signal.aborted ? new StreamBroken('unexpected EOF') : error
  } finally {
    if (strikes.get('wedge') === undefined && !seen.stuck) {
      giveBack()
      tell('slot-freed')
    }
  }
}

const died =
  (runner: Runner) =>
  (error: unknown): never => {
    throw runner.dead ? new StreamBroken('unexpected EOF') : error
  }

async function answer(exchange: Exchange, run: Run, form: Form): Promise<void> {
  const parts = generate(run)
  if (!run.job.stream) {
    sendSingle(exchange)
    let next = await parts.next()
    while (next.done !== true) next = await parts.next()
    return sendBody(exchange, form.single(next.value))
  }
  try {
    await stream(exchange, parts, form)
  } catch (error) {
    await breakStream(exchange, run, form, error)
  }
}

/** A fault that breaks a stream breaks a whole answer before it is sent. */
function sendSingle({ strikes }: Exchange): void {
  const broken = strikes.get('stream_error')
  if (broken !== undefined) throw new StreamBroken(broken.message ?? 'unexpected EOF')
}

async function stream(
  { reply }: Exchange,
  parts: AsyncGenerator<Part, Result, void>,
  form: Form,
): Promise<void> {
  const { contentType, headers } = form.stream
  let next = await parts.next()
  reply.begin(200, { ...headers, 'Content-Type': contentType })
  while (next.done !== true) {
    for (const chunk of form.stream.part(next.value)) await reply.write(chunk)
    next = await parts.next()
  }
  await reply.finish(form.stream.final(next.value))
}

async function breakStream(
  exchange: Exchange,
  run: Run,
  form: Form,
  error: unknown,
): Promise<void> {
  const { reply, signal, sim } = exchange
  if (signal.aborted) throw error
  const failure = run.runner.dead ? new StreamBroken('unexpected EOF') : error
  if (!reply.begun) {
    const known = asSimError(failure)
    if (known === undefined) throw failure
    if (!sim.features.earlyStreamStatus) return lateError(exchange, form, known.message)
    return answerEarly(exchange, form, known)
  }
  if (!(failure instanceof StreamBroken)) throw failure
  const last = form.stream.broken(RUNNER_FAILED + failure.message)
  if (last !== undefined) reply.response.write(last)
  reply.end()
}

/** Old versions had sent 200 before they knew. */
async function lateError({ reply }: Exchange, form: Form, message: string): Promise<void> {
  reply.begin(200, { 'Content-Type': form.stream.contentType })
  const last = form.stream.broken(message)
  if (last !== undefined) await reply.write(last)
  reply.end()
}

/** Native errors that come through the stream's channel are chunked and without a charset. */
async function answerEarly({ reply }: Exchange, form: Form, failure: SimError): Promise<void> {
  const { contentType, body } = form.fail(failure)
  const headers = { ...form.stream.headers, 'Content-Type': contentType }
  if (form.control === undefined) return reply.send(failure.status, headers, body)
  reply.begin(failure.status, { ...headers, 'Content-Type': 'application/json' })
  await reply.write(body)
  reply.end()
}

async function sendControl(exchange: Exchange, job: Job, form: Form): Promise<void> {
  if (form.control !== undefined) return sendBody(exchange, form.control('load'))
  const result = controlResult('load')
  if (!job.stream) return sendBody(exchange, form.single(result))
  exchange.reply.begin(200, { ...form.stream.headers, 'Content-Type': form.stream.contentType })
  await exchange.reply.finish(form.stream.final(result))
}

async function sendBody({ reply }: Exchange, { contentType, body }: Body): Promise<void> {
  await reply.send(200, { 'Content-Type': contentType }, body)
}

function controlResult(doneReason: 'load' | 'unload'): Result {
  return {
    content: '',
    thinking: '',
    toolCalls: [],
    logprobs: undefined,
    doneReason,
    promptTokens: 0,
    evalTokens: 0,
    context: undefined,
    times: { total: 0, load: 0, promptEval: 0, eval: 0 },
  }
}
