// How a simulated worker is set up, with defaults that make tests quick.

import type { SimClock } from './clock.ts'
import type { ModelSpec } from './models.ts'

export interface Settings {
  /** Address to listen on. Default 127.0.0.1. */
  host: string
  /** Default 0: any free port. */
  port: number
  /** The Ollama version to be. Default 0.33.0. */
  version: string
  /** Permits per loaded model (`OLLAMA_NUM_PARALLEL`). Default 1. */
  slots: number
  /** Most models loaded at once (`OLLAMA_MAX_LOADED_MODELS`). Default 3. */
  maxLoaded: number
  /** Requests that may wait for a load (`OLLAMA_MAX_QUEUE`). Default 512. */
  maxQueue: number
  /** `OLLAMA_KEEP_ALIVE` in milliseconds. Default five minutes. */
  keepAliveMs: number
  /** Bytes that loaded models may take together. Default: no bound. */
  memoryBytes: number
  /** Context of a request that names none. Default by version: 4096 or 2048. */
  defaultContext: number | undefined
  /** Milliseconds a load takes. Default 5. */
  loadMs: number
  /** Milliseconds before the first word. Default 0. */
  prefillMs: number
  /** Milliseconds between words. Default 0. */
  tokenMs: number
  /** Words of an answer that nothing else limits. Default 8. */
  tokens: number
  /** Default 1. */
  seed: number
  /** Share of a loaded model that is in GPU memory, 0 to 1. Default 1. */
  gpuShare: number
  /** `disabled` (403), `signin` (401) or `unreachable` (502) for models that run on ollama.com. Default disabled. */
  cloud: 'disabled' | 'signin' | 'unreachable'
  /** What `/api/pull` of a model that is not installed does. Default `unreachable`, as on a host without network. */
  registry: 'unreachable' | 'missing' | 'available'
  /** Milliseconds between two lines of a pull. Default 1. */
  pullStepMs: number
  /** Whether a peer that stops reading and then leaves costs the model a permit for good, as Ollama's code shape allows. Default false. */
  pausedReaderWedges: boolean
  /** Further allowed origins (`OLLAMA_ORIGINS`). */
  origins: readonly string[]
}

export interface WorkerOptions extends Partial<Settings> {
  /** Installed models, by name or in full. Default: one chat model, one thinking, one embedding. */
  models?: readonly (ModelSpec | string)[]
  /** Default: real time. */
  clock?: SimClock
  /** A second listener for `/_sim/…` alone, which works while the worker refuses. Default false. */
  control?: boolean
  /** Called when a `die` fault strikes; a process ends itself here. */
  onDie?: () => void
}

export const DEFAULT_SETTINGS: Settings = {
  host: '127.0.0.1',
  port: 0,
  version: '0.33.0',
  slots: 1,
  maxLoaded: 3,
  maxQueue: 512,
  keepAliveMs: 300_000,
  memoryBytes: Number.POSITIVE_INFINITY,
  defaultContext: undefined,
  loadMs: 5,
  prefillMs: 0,
  tokenMs: 0,
  tokens: 8,
  seed: 1,
  gpuShare: 1,
  cloud: 'disabled',
  registry: 'unreachable',
  pullStepMs: 1,
  pausedReaderWedges: false,
  origins: [],
}

export const DEFAULT_MODELS: readonly string[] = ['qwen3:8b', 'llama3.2:3b', 'all-minilm:latest']
