// One generation as the engine sees it. Every dialect is translated to this, as
// Ollama's own middlewares translate to its chat and generate requests.

import type { Think } from './decode.ts'

export interface ToolCall {
  id: string
  name: string
  arguments: Readonly<Record<string, unknown>>
}

export interface Logprob {
  token: string
  logprob: number
  bytes: readonly number[]
  top_logprobs?: readonly Omit<Logprob, 'top_logprobs'>[]
}

export interface Job {
  kind: 'chat' | 'generate'
  /** As the client wrote it. */
  model: string
  stream: boolean
  messages: readonly { role: string; content: string }[]
  images: number
  system: string
  suffix: string
  raw: boolean
  /** Generate with `template`, `system` or `context`, which raw mode refuses. */
  rawConflict: boolean
  tools: readonly unknown[]
  think: Think | undefined
  /** Anthropic lets a thinking request pass on a model that cannot. */
  thinkRelaxed: boolean
  format: unknown
  options: Readonly<Record<string, unknown>>
  /** Milliseconds; undefined where the request says nothing. */
  keepAliveMs: number | undefined
  truncate: boolean
  shift: boolean
  logprobs: boolean
  topLogprobs: number
  debugRender: boolean
  /** Nothing to say: the request only loads or unloads. */
  empty: boolean
}

export const blankJob: Job = {
  kind: 'chat',
  model: '',
  stream: false,
  messages: [],
  images: 0,
  system: '',
  suffix: '',
  raw: false,
  rawConflict: false,
  tools: [],
  think: undefined,
  thinkRelaxed: false,
  format: undefined,
  options: {},
  keepAliveMs: undefined,
  truncate: true,
  shift: true,
  logprobs: false,
  topLogprobs: 0,
  debugRender: false,
  empty: false,
}

/** One piece of an answer, as the runner sends it. */
export interface Part {
  content: string
  thinking: string
  toolCalls: readonly ToolCall[]
  logprobs: readonly Logprob[] | undefined
}

export interface Result extends Part {
  doneReason: 'stop' | 'length' | 'load' | 'unload'
  promptTokens: number
  evalTokens: number
  /** Token ids of prompt and answer, in generate. */
  context: readonly number[] | undefined
  /** Nanoseconds. */
  times: { total: number; load: number; promptEval: number; eval: number }
}

export interface Body {
  contentType: string
  body: string
}

/** How a dialect writes what the engine says. Made for one request, so it may keep state. */
export interface Form {
  fail(error: SimErrorLike): Body
  single(result: Result): Body
  /** The answer to a request that only loads or unloads; undefined: as `single`. */
  control?(reason: 'load' | 'unload'): Body
  debug?(rendered: string): Body
  stream: {
    contentType: string
    /** Set before anything is known, so also on errors. */
    headers: Readonly<Record<string, string>>
    /** How an error from the runner before the first chunk is labelled. */
    part(part: Part): readonly string[]
    final(result: Result): readonly string[]
    /** What the client still sees when the stream breaks; often nothing. */
    broken(message: string): string | undefined
  }
}

export interface SimErrorLike {
  status: number
  message: string
  from: 'binding' | 'handler' | 'running'
  nativeShape: boolean
  extra: Readonly<Record<string, unknown>>
}
