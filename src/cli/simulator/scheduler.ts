// The scheduler of Ollama 0.33, as measured. One loop serves the pending queue
// strictly in order and loads in it; a request for a loaded model goes past the
// queue; a runner that must go is marked with a session of zero and waited for.
// That a later request with a keep_alive of its own undoes the mark, and so can
// leave a load waiting for good, is Ollama's behaviour and kept on purpose.

import { createRunner, type Runner } from './runner.ts'
import { sleep, type SimClock } from './clock.ts'
import type { SimEvent } from './events.ts'
import type { SimModel } from './models.ts'

/** A failure with the status and the words Ollama gives it. */
export class SchedulerError extends Error {
  override readonly name = 'SchedulerError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface SchedulerOptions {
  clock: SimClock
  emit: (event: SimEvent) => void
  /** Permits per loaded model (`OLLAMA_NUM_PARALLEL`). */
  slots: number
  /** Most models loaded at once (`OLLAMA_MAX_LOADED_MODELS`). */
  maxLoaded: number
  /** Requests that may wait for a load (`OLLAMA_MAX_QUEUE`). */
  maxQueue: number
  /** Session when a request names none (`OLLAMA_KEEP_ALIVE`), in milliseconds. */
  keepAliveMs: number
  /** Bytes that loaded models may take together. */
  memoryBytes: number
  loadMs: number
  /** Whether a request for a loaded model goes past the queue. */
  fastPath: boolean
  /** Asked at each load; a text fails it. */
  failLoad: (model: SimModel) => string | undefined
}

export interface RunnerRequest {
  id: number
  model: SimModel
  /** Context after clamping. */
  numCtx: number
  shift: boolean
  /** Undefined: keep what the runner has. */
  keepAliveMs: number | undefined
  /** Aborted when the client leaves or the request ends. */
  signal: AbortSignal
}

interface Pending {
  request: RunnerRequest
  resolve: (runner: Runner) => void
  reject: (error: Error) => void
}

export interface Scheduler {
  /** A runner with the wanted model; the request counts on it until `release`. */
  acquire(request: RunnerRequest): Promise<Runner>
  release(runner: Runner): void
  /** Marks a runner to go as soon as it is idle (`keep_alive: 0`). */
  expire(model: SimModel): void
  /** All of them, as after running out of memory. */
  expireAll(): void
  /** The runner process dies: what runs on it fails. False where none is loaded. */
  kill(model: SimModel): boolean
  /** In the order ps lists them. */
  loaded(): readonly Runner[]
  loading(): RunnerRequest | undefined
  pending(): number
  close(): void
}

const BUSY = 'server busy, please try again.  maximum pending requests exceeded'

/** Ollama looks again this long after an expiry that came while requests were running. */
const EXPIRY_RETRY_MS = 10

export function createScheduler(options: SchedulerOptions): Scheduler {
  const scheduler = new SerialScheduler(options)
  return scheduler
}

class SerialScheduler implements Scheduler {
  readonly #options: SchedulerOptions
  readonly #runners = new Map<string, Runner>()
  readonly #queue: Pending[] = []
  #loading: RunnerRequest | undefined
  #running = false
  #closed = false
  #onUnload: (() => void) | undefined

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  acquire(request: RunnerRequest): Promise<Runner> {
    const runner = this.#runners.get(request.model.blob)
    const straight = this.#options.fastPath || (!this.#running && this.#queue.length === 0)
    if (straight && runner !== undefined && !runner.needsReload(request)) {
      this.#use(runner, request)
      return Promise.resolve(runner)
    }
    if (this.#queue.length >= this.#options.maxQueue && this.#running) {
      this.#emit('rejected', request)
      return Promise.reject(new SchedulerError(503, BUSY))
    }
    this.#emit('queued', request)
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, resolve, reject })
      const onAbort = (): void => reject(new SchedulerError(499, 'request canceled'))
      request.signal.addEventListener('abort', onAbort, { once: true })
      if (!this.#running) void this.#serve()
    })
  }

  release(runner: Runner): void {
    runner.refCount -= 1
    if (runner.refCount > 0) return
    if (runner.sessionMs <= 0) {
      this.#unload(runner)
      return
    }
    this.#startTimer(runner)
  }

  expire(model: SimModel): void {
    const runner = this.#runners.get(model.blob)
    if (runner === undefined) return
    runner.expiresAt = this.#options.clock.now()
    this.#mark(runner)
  }

  expireAll(): void {
    for (const runner of this.#runners.values()) this.#mark(runner)
  }

  kill(model: SimModel): boolean {
    const runner = this.#runners.get(model.blob)
    if (runner === undefined) return false
    runner.dead = true
    runner.death.abort(new Error('unexpected EOF'))
    return true
  }

  loaded(): readonly Runner[] {
    return [...this.#runners.values()].toSorted((a, b) => b.expiresAt - a.expiresAt)
  }

  loading(): RunnerRequest | undefined {
    return this.#loading
  }

  pending(): number {
    return this.#queue.length + (this.#running ? 1 : 0)
  }

  close(): void {
    this.#closed = true
    for (const runner of this.#runners.values()) runner.stopTimer()
    for (const waiting of this.#queue.splice(0)) {
      waiting.reject(new SchedulerError(499, 'request canceled'))
    }
    this.#onUnload?.()
  }

  /** The one loop: the next request is not looked at before this one is served. */
  async #serve(): Promise<void> {
    this.#running = true
    for (;;) {
      const next = this.#queue.shift()
      if (next === undefined || this.#closed) break
      if (next.request.signal.aborted) continue
      try {
        const runner = await this.#provide(next.request)
        if (next.request.signal.aborted) this.release(runner)
        else next.resolve(runner)
      } catch (error) {
        // Whatever went wrong belongs to this request; the loop goes on with the next.
        next.reject(error as Error)
      }
    }
    this.#running = false
  }

  async #provide(request: RunnerRequest): Promise<Runner> {
    for (;;) {
      if (this.#closed) throw new SchedulerError(499, 'request canceled')
      const present = this.#runners.get(request.model.blob)
      if (present !== undefined && !present.needsReload(request)) {
        this.#use(present, request)
        return present
      }
      const victim = present ?? (this.#hasRoom(request.model) ? undefined : this.#victim())
      if (victim === undefined) return this.#load(request)
      const unloaded = this.#nextUnload()
      this.#mark(victim)
      await unloaded
    }
  }

  #hasRoom(model: SimModel): boolean {
    if (this.#runners.size === 0) return true
    if (this.#runners.size >= this.#options.maxLoaded) return false
    const used = [...this.#runners.values()].reduce((sum, { model: { size } }) => sum + size, 0)
    return used + model.size <= this.#options.memoryBytes
  }

  /** Shortest session first, an idle one before a busy one. */
  #victim(): Runner | undefined {
    const sorted = [...this.#runners.values()].toSorted(
      (a, b) => a.sessionMs - b.sessionMs || (a.model.blob < b.model.blob ? -1 : 1),
    )
    return sorted.find((runner) => runner.refCount === 0) ?? sorted[0]
  }

  async #load(request: RunnerRequest): Promise<Runner> {
    this.#loading = request
    this.#emit('load-begun', request)
    const { clock, failLoad } = this.#options
    try {
      await sleep(clock, request.model.loadMs ?? this.#options.loadMs, request.signal)
    } catch {
      // The client left: Ollama ends the load with it, whoever else waits for the model.
      this.#emit('load-aborted', request)
      throw new SchedulerError(499, 'request canceled')
    } finally {
      this.#loading = undefined
    }
    const failure = failLoad(request.model)
    if (failure !== undefined) {
      this.#emit('load-aborted', request)
      throw new SchedulerError(500, failure)
    }
    const runner = createRunner({
      clock,
      request,
      slots: Math.min(this.#options.slots, request.model.maxSlots),
      sessionMs: this.#options.keepAliveMs,
    })
    this.#runners.set(request.model.blob, runner)
    this.#use(runner, request)
    this.#emit('load-ended', request)
    return runner
  }

  #use(runner: Runner, request: RunnerRequest): void {
    runner.refCount += 1
    runner.stopTimer()
    if (request.keepAliveMs !== undefined) runner.sessionMs = request.keepAliveMs
  }

  /** From here on the runner goes when it is idle, unless a request gives it a new session. */
  #mark(runner: Runner): void {
    runner.stopTimer()
    runner.sessionMs = 0
    if (runner.refCount <= 0) this.#unload(runner)
  }

  #startTimer(runner: Runner): void {
    runner.stopTimer()
    const { clock } = this.#options
    runner.expiresAt = clock.now() + runner.sessionMs
    if (runner.sessionMs === Infinity || this.#closed) return
    runner.timer = clock.after(runner.sessionMs, () => this.#expired(runner))
  }

  #expired(runner: Runner): void {
    if (runner.refCount <= 0) this.#unload(runner)
    else runner.timer = this.#options.clock.after(EXPIRY_RETRY_MS, () => this.#expired(runner))
  }

  #unload(runner: Runner): void {
    runner.stopTimer()
    if (this.#runners.get(runner.model.blob) !== runner) return
    this.#runners.delete(runner.model.blob)
    this.#options.emit({
      name: 'unloaded',
      at: this.#options.clock.now(),
      model: runner.model.name,
    })
    this.#onUnload?.()
  }

  #nextUnload(): Promise<void> {
    return new Promise((resolve) => {
      this.#onUnload = () => {
        this.#onUnload = undefined
        resolve()
      }
    })
  }

  #emit(name: SimEvent['name'], request: RunnerRequest): void {
    const at = this.#options.clock.now()
    this.#options.emit({ name, at, requestId: request.id, model: request.model.name })
  }
}
