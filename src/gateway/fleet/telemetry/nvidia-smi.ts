// The one `nvidia-smi` of this machine: it runs as long as a worker asks for it and prints a row
// per GPU every two seconds. A process per reading would cost the driver's initialisation each
// time, seconds where no persistence daemon runs.
//
// It may be absent, hang in the driver, die, or say something else than rows. None of that is a
// fault of the gateway: each is a state, and it is tried again, less and less often.

import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Clock, Timer } from '../../clock.ts'
import type { GpuReading } from '../worker.ts'
import { parseMigParents } from './gpu-selection.ts'
import { FIELDS, OLD_FIELDS } from './nvidia-csv.ts'
import { TickReader } from './nvidia-ticks.ts'
import type { Tick } from './nvidia-ticks.ts'

export type NvidiaState =
  /** Nobody asks for it, or it has not said anything yet. */
  | { kind: 'off' | 'starting' }
  | { kind: 'reading' }
  /** Rows come, but a GPU is missing or something else is said. */
  | { kind: 'partial'; reason: string }
  /** There is no such program. */
  | { kind: 'absent'; reason: string }
  | { kind: 'failing'; reason: string }

export interface NvidiaDeps {
  clock: Clock
  env: Readonly<Record<string, string | undefined>>
  /** Called after each change of the figures or of the state. */
  onChange(): void
  /** Default: PACE. */
  pace?: Pace
}

/** All in milliseconds. */
export interface Pace {
  tickMs: number
  /** The driver may first have to be initialised. */
  firstRowMs: number
  /** Pause before the next start; doubled each time, up to `maxRestartMs`. */
  restartMs: number
  maxRestartMs: number
}

const PACE: Pace = { tickMs: 2_000, firstRowMs: 30_000, restartMs: 2_000, maxRestartMs: 30_000 }

/** Without a row for so many ticks it hangs. */
const SILENT_TICKS = 3
/** A tick's rows come together: after this share of a tick without another one it is over. */
const TICK_END = 0.2
/** A run that said so much besides rows is ended. */
const MAX_STRAY_LENGTH = 64 * 1024
/** A process that hangs in the driver cannot be killed; no more than these are left behind. */
const MAX_LEFT_BEHIND = 3
const LISTING_MS = 10_000
const LISTING_BYTES = 64 * 1024

interface Run {
  child: ChildProcess
  reader: TickReader
  ticks: number
  ended: boolean
  watchdog: Timer
  tickEnd: Timer | undefined
}

export class NvidiaSmi {
  readonly #deps: NvidiaDeps
  readonly #pace: Pace
  #state: NvidiaState = { kind: 'off' }
  #gpus: readonly GpuReading[] = []
  #migParents: ReadonlyMap<string, string> = new Map()
  #wanted = false
  #wantsMig = false
  #run: Run | undefined
  #listing: ChildProcess | undefined
  #restart: Timer | undefined
  #pauseMs = 0
  #leftBehind = 0
  #fields: readonly string[] = FIELDS
  /** The most GPUs that were seen since the start. */
  #most = 0

  constructor(deps: NvidiaDeps) {
    this.#deps = deps
    this.#pace = deps.pace ?? PACE
  }

  get state(): NvidiaState {
    return this.#state
  }

  /** As of the last tick; empty while there is none. */
  get gpus(): readonly GpuReading[] {
    return this.#gpus
  }

  get migParents(): ReadonlyMap<string, string> {
    return this.#migParents
  }

  /** Starts it, or ends it. `mig`: somebody names a MIG instance. */
  want(wanted: boolean, mig: boolean): void {
    if (wanted && mig && !this.#wantsMig) void this.#list()
    this.#wantsMig = mig
    if (wanted === this.#wanted) return
    this.#wanted = wanted
    if (wanted) this.#start()
    else this.stop()
  }

  /** Does not wait for the process: one that hangs in the driver would never end. */
  stop(): void {
    this.#wanted = false
    this.#restart?.cancel()
    this.#end(this.#run)
    if (this.#listing !== undefined) leave(this.#listing)
    this.#gpus = []
    this.#pauseMs = 0
    this.#become({ kind: 'off' })
  }

  #start(): void {
    const { clock, env } = this.#deps
    if (this.#leftBehind >= MAX_LEFT_BEHIND) {
      this.#retry()
      return
    }
    if (this.#state.kind === 'off') this.#become({ kind: 'starting' })
    const query = `--query-gpu=${this.#fields.join(',')}`
    const loop = `--loop=${Math.max(1, Math.round(this.#pace.tickMs / 1_000))}`
    const child = spawn('nvidia-smi', [query, '--format=csv,noheader,nounits', loop], {
      env: definedOnly(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const run: Run = {
      child,
      reader: new TickReader(this.#fields),
      ticks: 0,
      ended: false,
      watchdog: clock.after(this.#pace.firstRowMs, () => this.#hung(run)),
      tickEnd: undefined,
    }
    this.#run = run
    this.#leftBehind += 1
    this.#listen(run)
  }

  #listen(run: Run): void {
    const { child } = run
    child.unref()
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8')
      stream?.on('data', (text: string) => this.#hear(run, text))
    }
    child.once('error', (error: NodeJS.ErrnoException) => {
      // Without a pid it never ran, and no `exit` follows.
      if (child.pid === undefined) this.#leftBehind -= 1
      this.#over(run, this.#notRun(error))
    })
    child.once('exit', () => (this.#leftBehind -= 1))
    child.once('close', (code, signal) => this.#closed(run, signal ?? `exit code ${code}`))
  }

  #notRun(error: NodeJS.ErrnoException): NvidiaState {
    if (error.code === 'ENOENT') return { kind: 'absent', reason: 'nvidia-smi is not installed' }
    return { kind: 'failing', reason: `nvidia-smi cannot be run: ${error.message}` }
  }

  #hear(run: Run, text: string): void {
    if (run.ended) return
    const ticks = run.reader.push(text)
    for (const tick of ticks) this.#take(run, tick)
    run.tickEnd?.cancel()
    if (run.reader.pending) {
      run.tickEnd = this.#deps.clock.after(this.#pace.tickMs * TICK_END, () => {
        const tick = run.reader.end()
        if (tick !== undefined && !run.ended) this.#take(run, tick)
      })
    }
    if (run.reader.strayLength > MAX_STRAY_LENGTH) {
      this.#over(run, { kind: 'failing', reason: `nvidia-smi: ${run.reader.said}` })
    }
  }

  #take(run: Run, tick: Tick): void {
    run.ticks += 1
    run.watchdog.cancel()
    run.watchdog = this.#deps.clock.after(this.#pace.tickMs * SILENT_TICKS, () => this.#hung(run))
    this.#gpus = tick.gpus
    this.#most = Math.max(this.#most, tick.gpus.length)
    // A broken card may end each run after one tick: only a second one says that all is well.
    if (run.ticks > 1) this.#pauseMs = 0
    const missing = this.#most - tick.gpus.length
    if (missing > 0 || tick.disturbed) {
      const said = run.reader.said
      const reason = said === '' ? `${missing} of ${this.#most} GPUs no longer answer` : said
      this.#become({ kind: 'partial', reason: `nvidia-smi: ${reason}` })
    } else if (this.#state.kind !== 'partial' || run.ticks > 1) this.#become({ kind: 'reading' })
    this.#deps.onChange()
  }

  #hung(run: Run): void {
    this.#gpus = []
    this.#over(run, { kind: 'failing', reason: 'nvidia-smi hangs: no row came in time' })
  }

  #closed(run: Run, how: string): void {
    if (run.ended) return
    const tick = run.reader.close()
    if (tick !== undefined) this.#take(run, tick)
    const { said } = run.reader
    // An older driver does not know the newest field: asked without it, it may do well.
    if (run.ticks === 0 && this.#fields === FIELDS && /not a valid field/i.test(said)) {
      this.#fields = OLD_FIELDS
      this.#end(run)
      this.#start()
      return
    }
    const reason = `nvidia-smi ended with ${how}: ${said === '' ? 'it said nothing' : said}`
    this.#over(run, { kind: run.ticks > 0 ? 'partial' : 'failing', reason })
  }

  /** The run is over. What its last tick told stays until the next run, unless there was none. */
  #over(run: Run, state: NvidiaState): void {
    if (run.ended) return
    this.#end(run)
    if (run.ticks === 0) this.#gpus = []
    this.#become(state)
    this.#deps.onChange()
    if (this.#wanted) this.#retry()
  }

  #retry(): void {
    const { restartMs, maxRestartMs } = this.#pace
    this.#pauseMs = Math.min(maxRestartMs, Math.max(restartMs, this.#pauseMs * 2))
    this.#restart?.cancel()
    this.#restart = this.#deps.clock.after(this.#pauseMs, () => this.#start())
  }

  #end(run: Run | undefined): void {
    if (run === undefined || run.ended) return
    run.ended = true
    run.watchdog.cancel()
    run.tickEnd?.cancel()
    leave(run.child)
    if (this.#run === run) this.#run = undefined
  }

  /** Which GPU each MIG instance is cut from; told once, for who names an instance. */
  async #list(): Promise<void> {
    const { env, onChange } = this.#deps
    const options = { env: definedOnly(env), timeout: LISTING_MS, maxBuffer: LISTING_BYTES }
    const { promise, resolve } = Promise.withResolvers<string>()
    // What is not listed is missing, and the worker that names it says so.
    const child = execFile('nvidia-smi', ['-L'], options, (_error, stdout) => resolve(stdout))
    this.#listing = child
    this.#migParents = parseMigParents(await promise)
    onChange()
  }

  #become(state: NvidiaState): void {
    this.#state = state
  }
}

/** Ends a process without waiting for it: its pipes keep nothing alive any more. */
function leave(child: ChildProcess): void {
  child.kill('SIGKILL')
  child.stdout?.destroy()
  child.stderr?.destroy()
  child.unref()
}

function definedOnly(env: NvidiaDeps['env']): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))
}
