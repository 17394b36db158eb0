// One attempt: one request to one worker, and its answer on the way to the client.
//
// Nothing is written to the client before the worker's first body byte, so that whatever fails
// before it can be tried elsewhere. After it bytes pass unchanged and undelayed. A streamed answer
// is never paused: a real Ollama can lose a slot when a paused stream is broken off
// (ollama-api.md T39), so a slow client is buffered up to a bound and then ended.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock, Timer } from '../clock.ts'
import { textOf } from './attempt-failure.ts'
import { isOver } from './attempt-result.ts'
import type { AttemptFault, AttemptResult, RelayEnd } from './attempt-result.ts'
import type { ClientStream } from './client-stream.ts'
import type { ModelRewriter } from '../dialects/model-rewriter.ts'
import { answerHeld, HOLD_BYTES, isDocument } from './held-answer.ts'
import { inflaterFor } from './inflate.ts'
import type { Inflater } from './inflate.ts'
import { letGo } from './let-go.ts'
import { SilenceWatch } from './silence-watch.ts'
import type { ProbeResult, Silence, SilenceLimits } from './silence-watch.ts'
import { Tail } from './tail.ts'

/** What is kept of a worker's error body, and how long it may take to arrive. */
const ERROR_BODY_BYTES = 1024 * 1024
const ERROR_BODY_MS = 5_000

/** Says when the attempt is not wanted any more; one listener. */
export interface StopSource {
  isStopped(): boolean
  onStop(action: () => void): void
}

export interface AttemptOptions {
  clock: Clock
  client: ClientStream
  /** The client asked for a stream: the answer may have no length and is not held. */
  streamed: boolean
  firstByte: SilenceLimits
  stream: SilenceLimits
  slowReaderBufferBytes: number
  stop: StopSource
  probe(signal: AbortSignal): Promise<ProbeResult>
  /** Head for the client from the worker's head. */
  headersOf(headers: IncomingHttpHeaders): OutgoingHttpHeaders
  /** The worker's first body byte has come (of any status below 400). */
  onFirstByte(): void
  /** A stream that ended so is whole; what is not has to leave room for the error after it. */
  isWhole(tail: Buffer): boolean
  /** Changes chunks on the way (an alias puts the client's model name back). */
  rewrite: ModelRewriter | undefined
}

type Phase = 'waiting' | 'error-body' | 'holding' | 'relaying' | 'done'

export class Attempt implements Dispatcher.DispatchHandler {
  readonly #options: AttemptOptions
  readonly #result = Promise.withResolvers<AttemptResult>()
  readonly #watch: SilenceWatch
  #phase: Phase = 'waiting'
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #inflater: Inflater | undefined
  #held: Buffer[] = []
  #heldBytes = 0
  #errorTimer: Timer | undefined
  #tail = new Tail()
  #chunks = 0

  constructor(options: AttemptOptions) {
    this.#options = options
    const { clock, probe, stop } = options
    this.#watch = new SilenceWatch(
      {
        clock,
        probe,
        isWhole: () => this.#isWhole(),
        onSilence: (silence) => this.#silent(silence),
      },
      options.firstByte,
    )
    if (stop.isStopped()) queueMicrotask(() => this.#abort())
    else stop.onStop(() => this.#abort())
  }

  get result(): Promise<AttemptResult> {
    return this.#result.promise
  }

  /** Monotonic time of the last byte, or of the dispatch. */
  get heardAt(): number {
    return this.#watch.heardAt
  }

  get chunks(): number {
    return this.#chunks
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#phase === 'done') controller.abort(new Error('given up before it was sent'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200 || this.#phase !== 'waiting') return
    this.#status = status
    this.#headers = headers
    this.#inflater = inflaterFor(headers['content-encoding'], {
      onData: (chunk) => this.#data(chunk),
      onEnd: () => this.#end(),
      onError: (error) => this.#failed(error),
    })
    if (status >= 400) {
      this.#phase = 'error-body'
      this.#errorTimer = this.#options.clock.after(ERROR_BODY_MS, () =>
        this.#fail({ cause: 'unreadable_error', status }),
      )
    } else if (status >= 300) {
      this.#fail({ cause: 'redirect', status })
    } else if (headers['content-type']?.startsWith('text/html') === true) {
      this.#fail({ cause: 'web_page' })
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#inflater === undefined) this.#data(chunk)
    else this.#inflater.push(chunk)
  }

  onResponseEnd(): void {
    if (this.#inflater === undefined) this.#end()
    else this.#inflater.end()
  }

  /** The request could not even be handed over. */
  notSent(error: unknown): void {
    this.#failed(error instanceof Error ? error : new Error(String(error)))
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#failed(error)
  }

  #data(chunk: Buffer): void {
    switch (this.#phase) {
      case 'relaying':
        this.#watch.heard()
        this.#pass(chunk)
        return
      case 'waiting':
        if (chunk.length === 0) return
        this.#begin()
        this.#data(chunk)
        return
      case 'holding':
        this.#watch.heard()
        this.#hold(chunk)
        return
      case 'error-body':
        this.#watch.heard()
        this.#collectError(chunk)
        return
      case 'done':
    }
  }

  #begin(): void {
    this.#watch.restart(this.#options.stream)
    this.#options.onFirstByte()
    if (this.#phase === 'done') return
    this.#phase = 'relaying'
    if (this.#options.client.committed) return // a heartbeat went first
    const length = this.#length()
    if (!this.#options.streamed || (length !== undefined && length <= HOLD_BYTES)) {
      this.#phase = 'holding'
      return
    }
    this.#start(length)
  }

  #start(length: number | undefined): void {
    const { client, headersOf, rewrite } = this.#options
    const headers = headersOf(this.#headers)
    if (length === undefined || rewrite !== undefined) client.startStream(this.#status, headers)
    else client.startWithLength(this.#status, headers, length)
  }

  #length(): number | undefined {
    const length = Number(this.#headers['content-length'])
    return Number.isInteger(length) && this.#inflater === undefined ? length : undefined
  }

  #hold(chunk: Buffer): void {
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes <= HOLD_BYTES) return
    this.#phase = 'relaying'
    this.#start(this.#length())
    for (const held of this.#held.splice(0)) this.#pass(held)
  }

  #pass(chunk: Buffer): void {
    const { client, rewrite, slowReaderBufferBytes, streamed } = this.#options
    this.#chunks += 1
    this.#tail.push(chunk)
    if (rewrite === undefined) client.write(chunk)
    else for (const piece of rewrite(chunk)) client.write(piece)
    if (client.backlog <= slowReaderBufferBytes) return
    if (streamed) this.#finish({ kind: 'slow_client' })
    else this.#pause()
  }

  /** An answer that is not streamed is done generating; its worker may wait for a slow client. */
  #pause(): void {
    this.#controller?.pause()
    this.#options.client.onceDrained(() => {
      this.#watch.heard()
      this.#controller?.resume()
    })
  }

  #collectError(chunk: Buffer): void {
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes > ERROR_BODY_BYTES) {
      this.#fail({ cause: 'unreadable_error', status: this.#status })
    }
  }

  #end(): void {
    switch (this.#phase) {
      case 'waiting':
        this.#fail({ cause: 'empty' })
        return
      case 'error-body':
        this.#settle({
          kind: 'refused',
          status: this.#status,
          headers: this.#headers,
          body: Buffer.concat(this.#held),
        })
        return
      case 'holding':
        this.#answerHeld()
        this.#finish({ kind: 'ended' })
        return
      case 'relaying':
        for (const piece of this.#options.rewrite?.(undefined) ?? []) {
          this.#options.client.write(piece)
        }
        this.#finish({ kind: 'ended' })
        return
      case 'done':
    }
  }

  #answerHeld(): void {
    const { client, headersOf, rewrite, streamed, isWhole } = this.#options
    for (const chunk of this.#held) this.#tail.push(chunk)
    this.#chunks = 1
    const answer = {
      status: this.#status,
      headers: headersOf(this.#headers),
      chunks: this.#held,
      leavesRoom: streamed && !isWhole(this.#tail.bytes()),
    }
    answerHeld(client, answer, rewrite)
  }

  /** The worker has sent the first byte of an answer. */
  #begun(): boolean {
    return this.#phase === 'relaying' || this.#phase === 'holding'
  }

  /** The dialect's last word has come: whatever becomes of the connection, nothing is missing. */
  #isWhole(): boolean {
    const { streamed, isWhole } = this.#options
    if (this.#phase === 'holding') return this.#length() === undefined && isDocument(this.#held)
    return this.#phase === 'relaying' && streamed && isWhole(this.#tail.bytes())
  }

  #failed(error: Error): void {
    if (this.#isWhole()) {
      this.#end()
    } else if (this.#begun()) {
      this.#finish({ kind: 'cut', detail: textOf(error), error })
    } else if (this.#phase === 'error-body') {
      this.#fail({ cause: 'unreadable_error', status: this.#status })
    } else {
      this.#fail({ cause: 'transport', detail: textOf(error), error, answered: this.#status !== 0 })
    }
  }

  #silent(silence: Silence): void {
    if (silence.kind === 'whole') {
      this.#controller?.abort(new Error('the answer is whole'))
      return
    }
    const { silentMs } = silence
    const begun = this.#begun()
    if (silence.kind === 'timeout') {
      if (begun) this.#finish({ kind: 'timeout', silentMs })
      else this.#fail({ cause: 'timeout', silentMs })
    } else if (begun) {
      this.#finish({ kind: 'absent', silentMs, detail: silence.error })
    } else {
      this.#fail({ cause: 'absent', silentMs, detail: silence.error })
    }
  }

  #abort(): void {
    if (this.#begun()) this.#finish({ kind: 'aborted' })
    else this.#settle({ kind: 'aborted' })
  }

  #fail(fault: AttemptFault): void {
    this.#settle({ kind: 'failed', fault })
  }

  #finish(end: RelayEnd): void {
    this.#settle({
      kind: 'relayed',
      status: this.#status,
      end,
      tail: this.#tail.bytes(),
      chunks: this.#chunks,
    })
  }

  /** The one way out: the watch ends, the worker's connection is broken off where it still runs. */
  #settle(result: AttemptResult): void {
    if (this.#phase === 'done') return
    this.#phase = 'done'
    this.#watch.stop()
    this.#errorTimer?.cancel()
    this.#inflater?.destroy()
    if (isOver(result)) {
      this.#result.resolve(result)
      return
    }
    this.#controller?.abort(new Error('the attempt is over'))
    letGo(this.#options.clock, () => this.#result.resolve(result))
  }
}
