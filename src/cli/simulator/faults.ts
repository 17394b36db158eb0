// What can go wrong with a simulated worker, switched on and off at run time. A
// fault names the requests it is for (by path and model) and how often it strikes.

import { keyOf, parseName } from './names.ts'

/** One write of an exact script. Text is UTF-8; `base64` carries any bytes. */
export type ScriptChunk = string | { base64: string }

export type ScriptStep =
  | { send: ScriptChunk }
  | { wait: number }
  | { cut: 'fin' | 'rst' }
  | { hang: true }

/** An answer in the place of generated words. */
export interface ScriptedAnswer {
  content?: readonly string[]
  thinking?: readonly string[]
  toolCalls?: readonly { name: string; arguments: Readonly<Record<string, unknown>> }[]
  doneReason?: 'stop' | 'length'
  promptTokens?: number
  evalTokens?: number
}

export type FaultKind =
  /** Nobody listens; open connections are reset. Listens again after `ms`, or when the fault is taken away. */
  | { kind: 'refuse'; ms?: number }
  /** RST, on accept or before the first byte of an answer. */
  | { kind: 'reset'; on?: 'accept' | 'request' }
  /** Takes the connection and the request and never answers, as a sleeping host. */
  | { kind: 'silent' }
  | { kind: 'silent_after_headers' }
  /** The first byte of the answer comes that much later. */
  | { kind: 'slow_headers'; ms: number }
  /** That much silence before each chunk after the first `after`. */
  | { kind: 'gap'; ms: number; after?: number }
  /** The connection ends after so many body chunks (0: after the headers). */
  | { kind: 'cut'; after: number; how: 'fin' | 'rst' }
  /** The stream breaks as Ollama's does, each dialect in its way. */
  | { kind: 'stream_error'; after: number; message?: string }
  /** A stream ends cleanly without what says that it is complete. */
  | { kind: 'no_terminator' }
  /** `endless`: never ends. `short`: the connection ends that many bytes before the promised length. */
  | {
      kind: 'status'
      status: number
      body?: string
      contentType?: string
      headers?: Readonly<Record<string, string>>
      endless?: boolean
      short?: number
    }
  /** Exact body chunks behind a head of choice. */
  | {
      kind: 'script'
      status?: number
      headers?: Readonly<Record<string, string>>
      chunks: readonly ScriptChunk[]
      gapMs?: number
      framing?: 'chunked' | 'content-length' | 'close'
      end?: 'clean' | 'fin' | 'rst' | 'hang'
    }
  /** Exact bytes on the socket, status line included. */
  | { kind: 'raw'; steps: readonly ScriptStep[] }
  | { kind: 'load_failure'; message?: string }
  /** The request fails and every loaded model goes. */
  | { kind: 'out_of_memory'; message?: string }
  /** The permit of the request is never given back until the model is unloaded. */
  | { kind: 'wedge' }
  | { kind: 'gzip'; declared: boolean }
  /** A kept-alive connection is closed that long after an answer. */
  | { kind: 'idle_close'; ms: number }
  /** One line of that many bytes: `context` in generate, the first word elsewhere. Default 2 MiB. */
  | { kind: 'huge_line'; bytes?: number }
  /** The answer is the body that came. */
  | { kind: 'echo' }
  | { kind: 'empty' }
  /** The worker is gone, with everything it was doing, after so many chunks. */
  | { kind: 'die'; after?: number }
  /** The model's runner dies after so many chunks. */
  | { kind: 'kill_runner'; after: number }
  | ({ kind: 'answer' } & ScriptedAnswer)
  /** Each chunk is written in pieces of that many bytes. */
  | { kind: 'drip'; bytes: number; ms?: number }

export interface FaultScope {
  /** Exact path, or a prefix with one trailing `*`. Default: every path. */
  path?: string
  /** Requests that name this model. */
  model?: string
  /** Strikes that often and is gone. Default: until taken away. */
  times?: number
}

export type Fault = FaultKind & FaultScope
export type ActiveFault = Fault & { id: number }
export type KindOf<K extends FaultKind['kind']> = Extract<ActiveFault, { kind: K }>

export const FAULT_KINDS: ReadonlySet<string> = new Set<FaultKind['kind']>([
  'refuse',
  'reset',
  'silent',
  'silent_after_headers',
  'slow_headers',
  'gap',
  'cut',
  'stream_error',
  'no_terminator',
  'status',
  'script',
  'raw',
  'load_failure',
  'out_of_memory',
  'wedge',
  'gzip',
  'idle_close',
  'huge_line',
  'echo',
  'empty',
  'die',
  'kill_runner',
  'answer',
  'drip',
])

/** The faults that struck one request. */
export interface Strikes {
  kinds: readonly string[]
  get<K extends FaultKind['kind']>(kind: K): KindOf<K> | undefined
}

export interface FaultBook {
  add(fault: Fault): number
  remove(id: number): void
  clear(): void
  list(): readonly ActiveFault[]
  /** The first fault of each kind that is for this request; counts it. */
  strike(path: string, model: string | undefined): Strikes
  /** Whether a fault of that kind is on, whatever it is for. Counts nothing. */
  active<K extends FaultKind['kind']>(kind: K): KindOf<K> | undefined
  /** The same for what is not a request, such as a connection or a load; counts it. */
  take<K extends FaultKind['kind']>(kind: K, model?: string): KindOf<K> | undefined
}

/** `onChange` hears of every fault that comes or goes. */
export function createFaultBook(onChange: () => void = () => {}): FaultBook {
  const faults = new Map<number, ActiveFault>()
  const left = new Map<number, number>()
  let last = 0

  const spend = (fault: ActiveFault): void => {
    const remaining = (left.get(fault.id) ?? Infinity) - 1
    left.set(fault.id, remaining)
    if (remaining <= 0) drop(fault.id)
  }
  const drop = (id: number): void => {
    faults.delete(id)
    left.delete(id)
    onChange()
  }
  const find = (kind: string): ActiveFault | undefined =>
    [...faults.values()].find((fault) => fault.kind === kind)

  return {
    add(fault) {
      last += 1
      faults.set(last, { ...fault, id: last })
      if (fault.times !== undefined) left.set(last, fault.times)
      onChange()
      return last
    },
    remove: drop,
    clear() {
      faults.clear()
      left.clear()
      onChange()
    },
    list: () => [...faults.values()],
    strike(path, model) {
      const struck = new Map<string, ActiveFault>()
      for (const fault of faults.values()) {
        if (struck.has(fault.kind) || !isFor(fault, path, model)) continue
        struck.set(fault.kind, fault)
      }
      for (const fault of struck.values()) {
        if (!COUNTED_ELSEWHERE.has(fault.kind)) spend(fault)
      }
      // The map's keys are the kinds of its values.
      return { kinds: [...struck.keys()], get: (kind) => struck.get(kind) as never }
    },
    active: (kind) => find(kind) as never,
    take(kind, model) {
      const fault = [...faults.values()].find(
        (candidate) =>
          candidate.kind === kind && (candidate.model === undefined || isModel(candidate, model)),
      )
      if (fault !== undefined) spend(fault)
      return fault as never
    },
  }
}

/** Strike connections and loads, and are counted there. */
const COUNTED_ELSEWHERE: ReadonlySet<string> = new Set(['refuse', 'load_failure'])

export const noStrikes: Strikes = { kinds: [], get: () => undefined }

function isFor(fault: Fault, path: string, model: string | undefined): boolean {
  if (fault.path !== undefined && !matchesPath(fault.path, path)) return false
  if (fault.kind === 'reset' && fault.on === 'accept') return false
  return fault.model === undefined || isModel(fault, model)
}

function isModel(fault: Fault, model: string | undefined): boolean {
  return (
    fault.model !== undefined && model !== undefined && foldName(fault.model) === foldName(model)
  )
}

function matchesPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern
}

function foldName(name: string): string {
  const parsed = parseName(name)
  return parsed === undefined ? name : keyOf(parsed)
}

export const bytesOf = (chunk: ScriptChunk): Buffer =>
  typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.base64, 'base64')
