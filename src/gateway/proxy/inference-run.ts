// One request from admission to its last byte, over as many attempts as the retry rules allow.
// Never two attempts at once, never another after a byte has gone to the client.

import type { Lease } from '../admission/ask.ts'
import { GatewayError } from '../errors.ts'
import type { WorkerReason } from '../errors.ts'
import { decideNext } from '../policy/retry.ts'
import type { AttemptFailure } from '../policy/retry.ts'
import type { ActiveRequest } from './active-requests.ts'
import { answerHead } from './answer-head.ts'
import { askOf } from './ask-of.ts'
import { Attempt } from './attempt.ts'
import { failingOf, failureOf, isStaleSocket, reasonOf } from './attempt-failure.ts'
import type { Failing } from './attempt-failure.ts'
import type { AttemptResult } from './attempt-result.ts'
import type { ClientStream } from './client-stream.ts'
import { countUse } from './count-use.ts'
import { Heartbeat } from './heartbeat.ts'
import type { InferenceDeps, InferenceRequest, Upstream } from './inference-deps.ts'
import { finishAnswer } from './finish-answer.ts'
import { codeOf, refusalStands, saysNobodyIsLeft, workersOf } from './give-up.ts'
import { letGo } from './let-go.ts'
import { noteSending } from './notice.ts'
import type { Outcome } from './request-outcome.ts'
import { sharedLoad } from './shared-load.ts'
import type { SharedLoad } from './shared-load.ts'
import { sentAs } from './sent-as.ts'
import { upstreamRequest } from './upstream-request.ts'
import type { BodyEdits } from './upstream-request.ts'

interface Serving {
  request: InferenceRequest
  active: ActiveRequest
  client: ClientStream
}

/** A worker's own error, and what its client is to hear besides. */
interface Refusal {
  worker: string
  answer: Refused
  warnings: readonly string[]
}

type Refused = Extract<AttemptResult, { kind: 'refused' }>

/** Undefined: the attempt failed before a byte, and another may follow. */
type Verdict = Outcome | undefined

export class InferenceRun {
  readonly #deps: InferenceDeps
  readonly #serving: Serving
  readonly #heartbeat: Heartbeat | undefined
  /** Worker → how it failed this request, in the order of the attempts. */
  readonly #failed = new Map<string, string>()
  /** Why each of the others could not take its place, as admission said it last. */
  #others: readonly WorkerReason[] = []
  /** Workers whose context was found out by an empty load. */
  readonly #loadedFirst = new Set<string>()
  /** What the client is to hear about the newest attempt, whether it succeeds or not. */
  #warnings: readonly string[] = []
  #firstFailureAt: number | undefined
  #refusal: Refusal | undefined

  constructor(deps: InferenceDeps, serving: Serving) {
    this.#deps = deps
    this.#serving = serving
    const { request, client } = serving
    const { heartbeat } = request.dialect
    if (heartbeat !== undefined && request.facts.stream) {
      const everyMs = deps.config().admission.heartbeat
      this.#heartbeat = new Heartbeat(deps.clock, client, heartbeat, everyMs)
    }
  }

  async toTheEnd(): Promise<Outcome> {
    try {
      for (;;) {
        using lease = await this.#admit()
        if (lease === undefined) return this.#giveUp()
        if (await this.#loadFirst(lease)) continue
        const outcome = await countUse(lease, this.#serving, this.#attempt(lease))
        if (outcome !== undefined) return outcome
        if (this.#over()) return this.#giveUp()
      }
    } finally {
      this.#heartbeat?.stop()
    }
  }

  /** Undefined: nobody is left after what the attempts met, and that says more than admission. */
  async #admit(): Promise<Lease | undefined> {
    const { active, request } = this.#serving
    active.phase = 'waiting'
    active.worker = undefined
    const { clock, admission, config, ratios, knowledge } = this.#deps
    const { key } = request.name
    await knowledge.ready(key, active.signal)
    const ask = askOf(request, {
      failed: this.#failed,
      maxWaitMs: config().admission.max_wait,
      receivedAt: active.receivedAt,
      charsPerToken: ratios.charsPerToken(key),
      capabilities: config().model_capabilities,
    })
    let lease: Lease
    try {
      lease = await admission.request(ask, active.signal)
    } catch (error) {
      if (this.#failed.size === 0 || !saysNobodyIsLeft(error)) throw error
      this.#others = workersOf(error).filter(({ worker }) => !this.#failed.has(worker))
      return undefined
    }
    active.phase = 'starting'
    active.worker = lease.worker
    active.grantedAt = clock.mono()
    active.queueMs += lease.queueMs
    return lease
  }

  /**
   * Where only a guess says that the prompt does not fit, the model is loaded empty and what the
   * worker then says of it is believed. True: the slot goes back and admission is asked again.
   */
  async #loadFirst(lease: Lease): Promise<boolean> {
    const { deps, request, active } = this.#parts()
    const { worker } = lease
    if (!lease.loadFirst || this.#loadedFirst.has(worker)) return false
    this.#loadedFirst.add(worker)
    const modelKey = request.name.key
    const embedding = request.facts.needs.includes('embedding')
    const load = sharedLoad(deps, { lease, active, request })
    const stop = new AbortController()
    load.onStop(() => stop.abort())
    if (load.isStopped()) stop.abort()
    const result = await deps.loadEmpty(worker, { modelKey, embedding }, stop.signal)
    load.close()
    if (stop.signal.aborted) await new Promise<void>((resolve) => letGo(deps.clock, resolve))
    active.signal.throwIfAborted()
    if (result.ok) return true
    const kind = result.why === 'refused' ? 'load_failed' : 'silent'
    this.#heed(worker, { failure: { kind }, reason: result.error })
    return true
  }

  async #attempt(lease: Lease): Promise<Verdict> {
    const upstream = this.#deps.upstream(lease.worker)
    if (upstream === undefined) {
      this.#note(lease.worker, { kind: 'transport' }, 'no address of it answers')
      return undefined
    }
    this.#serving.active.attempts += 1
    const result = await this.#send(lease, upstream, upstream.dispatcher)
    if (!isStaleSocket(result)) return this.#judge(lease, upstream, result)
    const fresh = upstream.fresh()
    try {
      return this.#judge(lease, upstream, await this.#send(lease, upstream, fresh))
    } finally {
      void fresh.close()
    }
  }

  async #send(
    lease: Lease,
    upstream: Upstream,
    dispatcher: Upstream['dispatcher'],
  ): Promise<AttemptResult> {
    const { deps, request, active, client } = this.#parts()
    const { upstream: limits } = deps.config()
    const load = sharedLoad(deps, { lease, active, request })
    const sent = sentAs(deps, request, upstream.worker, lease.ask)
    this.#warnings = sent.warnings
    noteSending(deps, active, { lease, warnings: sent.warnings })
    const attempt = new Attempt({
      clock: deps.clock,
      client,
      streamed: request.facts.stream,
      firstByte: { graceMs: limits.first_byte_grace, timeoutMs: limits.first_byte_timeout },
      stream: { graceMs: limits.stream_idle_grace, timeoutMs: limits.stream_idle_timeout },
      slowReaderBufferBytes: limits.slow_reader_buffer_bytes,
      stop: load,
      probe: (signal) => deps.probe(upstream.worker, upstream.address, signal),
      headersOf: (headers) =>
        answerHead(headers, { worker: lease.worker, active, warnings: sent.warnings }),
      onFirstByte: () => this.#firstByte(lease, load),
      isWhole: (tail) => request.dialect.ending(tail, true).complete,
      rewrite: sent.rewriter(),
    })
    active.chunks = () => attempt.chunks
    active.heardAt = () => attempt.heardAt
    try {
      dispatcher.dispatch(this.#upstreamRequest(upstream, sent.edits), attempt)
    } catch (error) {
      attempt.notSent(error)
    }
    try {
      return await attempt.result
    } finally {
      load.close()
    }
  }

  #upstreamRequest(upstream: Upstream, edits: BodyEdits) {
    const { ctx, bytes, parsed } = this.#serving.request
    return upstreamRequest(upstream, {
      path: ctx.path,
      requestId: ctx.id,
      trace: this.#serving.active.trace,
      clientHeaders: ctx.req.headers,
      body: bytes,
      spans: parsed.spans,
      edits,
    })
  }

  #firstByte(lease: Lease, load: SharedLoad): void {
    const { deps, request, active } = this.#parts()
    this.#heartbeat?.stop()
    active.phase = 'streaming'
    active.firstByteAt = deps.clock.mono()
    lease.begun()
    deps.tell({ type: 'answered', worker: lease.worker, model: request.name.key })
    load.begun()
  }

  #judge(lease: Lease, upstream: Upstream, result: AttemptResult): Verdict {
    switch (result.kind) {
      case 'relayed':
        return finishAnswer(this.#deps, { ...this.#serving, upstream, lease, result })
      case 'aborted':
        throw this.#serving.active.signal.reason
      case 'refused':
        return this.#refused(upstream, result)
      case 'failed': {
        this.#tellFleet(upstream, result.fault)
        this.#note(upstream.worker, failureOf(result.fault), reasonOf(result.fault))
        return undefined
      }
    }
  }

  #tellFleet(upstream: Upstream, fault: Extract<AttemptResult, { kind: 'failed' }>['fault']): void {
    const { worker, address } = upstream
    const error = reasonOf(fault)
    if (fault.cause === 'absent') this.#deps.tell({ type: 'silent', worker, address, error })
    else if (fault.cause !== 'timeout') {
      this.#deps.tell({ type: 'transport_fault', worker, address, error })
    }
  }

  /** The worker answered with an error: some of them another worker may not have. */
  #refused({ worker }: Upstream, answer: Refused): Verdict {
    const { deps } = this.#parts()
    const refusal = { worker, answer, warnings: this.#warnings }
    this.#refusal = refusal
    const fault = deps.classify(answer.status, answer.body.toString('utf8'))
    const failing = failingOf(fault, answer.status)
    if (failing === undefined) return this.#passRefusal(refusal)
    this.#heed(worker, failing)
    return undefined
  }

  /** The fleet is told what later requests have to know. A busy worker is held back, not blamed. */
  #heed(worker: string, { failure, reason }: Failing): void {
    const { deps, request } = this.#parts()
    const model = request.name.key
    if (failure.kind === 'missing_model') deps.tell({ type: 'model_missing', worker, model })
    if (failure.kind === 'load_failed') {
      deps.tell({ type: 'load_failed', worker, model, error: reason })
    }
    if (failure.kind === 'busy') deps.admission.hold(worker, model)
    this.#note(worker, failure, reason)
  }

  #note(worker: string, failure: AttemptFailure, reason: string): void {
    this.#serving.active.failures.push(failure)
    if (failure.kind === 'busy') return
    this.#failed.set(worker, reason)
    this.#firstFailureAt ??= this.#deps.clock.mono()
  }

  #over(): boolean {
    const { upstream } = this.#deps.config()
    return (
      decideNext(this.#serving.active.failures, {
        maxAttempts: upstream.max_attempts,
        budgetMs: upstream.retry_budget,
        sinceFirstFailureMs:
          this.#firstFailureAt === undefined ? 0 : this.#deps.clock.mono() - this.#firstFailureAt,
      }) === 'give_up'
    )
  }

  /** No further attempt: the worker's own words where there are some, else what happened where. */
  #giveUp(): Outcome {
    const { request, active } = this.#serving
    const refusal = this.#refusal
    if (refusal !== undefined && refusalStands(active.failures)) return this.#passRefusal(refusal)
    const failed = [...this.#failed].map(([worker, reason]): WorkerReason => ({ worker, reason }))
    throw new GatewayError({
      code: codeOf(active.failures),
      model: request.facts.model,
      workers: [...failed, ...this.#others],
    })
  }

  /** A worker's error passes unchanged; inside a stream that a heartbeat began, as its event. */
  #passRefusal({ worker, answer, warnings }: Refusal): Outcome {
    const { deps, client, active } = this.#parts()
    const { status } = answer
    if (client.committed) {
      const detail = deps.errorText(answer.body.toString('utf8'))
      throw new GatewayError({ code: 'upstream_error', worker, status, detail })
    }
    client.answer(status, answerHead(answer.headers, { worker, active, warnings }), answer.body)
    return { kind: 'refused', status }
  }

  #parts() {
    return { deps: this.#deps, ...this.#serving }
  }
}
