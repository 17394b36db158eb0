// The life of one generation on the worker, in the order in which Ollama checks:
// name, installed, unload, thinking, capabilities, options, schedule, load, run.

import { SimError } from './errors.ts'
import { generate, promptText, type Run } from './engine.ts'
import type { Body, Form, Job, Part, Result } from './job.ts'
import { withPermit, withRunner } from './hold.ts'
import { readOptions } from './options.ts'
import { StreamBroken, type Headers } from './reply.ts'
import { checkCapabilities, resolve, wantsThinking } from './resolve.ts'
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
async function answerError(
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
