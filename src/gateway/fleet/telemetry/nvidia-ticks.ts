// Cuts the endless output of `nvidia-smi --loop` into ticks. Nothing marks the end of a tick: it
// is over when a GPU comes again, or when no further row came for a while, which the caller knows.

import type { GpuReading } from '../worker.ts'
import { parseRow } from './nvidia-csv.ts'

export interface Tick {
  gpus: readonly GpuReading[]
  /** Between the rows stood something else, as for a GPU that fell off the bus. */
  disturbed: boolean
}

/** No row is that long. */
const MAX_LINE = 4_096
/** More GPUs than that are not one machine: a tick that never ends. */
const MAX_GPUS = 64
/** What nvidia-smi says instead of rows is told to operators so far. */
const MAX_SAID = 200

export class TickReader {
  readonly #fields: readonly string[]
  #rest = ''
  #gpus = new Map<number, GpuReading>()
  #disturbed = false
  #said = ''
  #strayLength = 0

  constructor(fields: readonly string[]) {
    this.#fields = fields
  }

  /** The beginning of what was no row. */
  get said(): string {
    return this.#said
  }

  /** How much came that was no row. */
  get strayLength(): number {
    return this.#strayLength
  }

  /** True while rows of a tick are held that may not be over. */
  get pending(): boolean {
    return this.#gpus.size > 0
  }

  /** The ticks that this text ended. */
  push(text: string): Tick[] {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    const ticks = lines.flatMap((line) => this.#line(line) ?? [])
    if (this.#rest.length > MAX_LINE) {
      this.#stray(this.#rest)
      this.#rest = ''
    }
    return ticks
  }

  /** The tick that nothing follows any more. */
  end(): Tick | undefined {
    if (this.#gpus.size === 0) return undefined
    const tick = { gpus: [...this.#gpus.values()], disturbed: this.#disturbed }
    this.#gpus = new Map()
    this.#disturbed = false
    return tick
  }

  /** The process is gone: its last line may lack an end. */
  close(): Tick | undefined {
    const [before] = this.push('\n')
    const last = this.end()
    return last ?? before
  }

  #line(text: string): Tick | undefined {
    const line = text.trim()
    if (line === '') return undefined
    const gpu = line.length > MAX_LINE ? undefined : parseRow(line, this.#fields)
    if (gpu?.index === undefined) {
      this.#stray(line)
      return undefined
    }
    const again = this.#gpus.has(gpu.index) || this.#gpus.size >= MAX_GPUS
    const tick = again ? this.end() : undefined
    this.#gpus.set(gpu.index, gpu)
    return tick
  }

  #stray(text: string): void {
    this.#disturbed = true
    this.#strayLength += text.length
    if (this.#said.length < MAX_SAID) {
      this.#said = `${this.#said} ${text.slice(0, MAX_SAID)}`.trim().slice(0, MAX_SAID)
    }
  }
}
