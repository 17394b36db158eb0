// What the gateway has to know of one client protocol: how to read what a request needs, how a
// failure is worded before and after the first byte, and how to tell a whole answer from a
// broken one. Bytes are never translated between dialects.

import type { GatewayError } from '../errors.ts'

export type DialectName =
  | 'ollama'
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-embeddings'
  | 'openai-responses'
  | 'openai-audio'
  | 'anthropic'

/** What a model must be able to do for a request. */
export type Need = 'completion' | 'tools' | 'vision' | 'thinking' | 'embedding' | 'insert' | 'audio'

/** `load` and `unload` are Ollama's control requests: inference routes with no work in them. */
export type RequestKind = 'inference' | 'load' | 'unload'

/** What is read from a request body. Plain data: it crosses from a parser thread by copy. */
export interface RequestFacts {
  /** As the client spelled it. */
  model: string
  stream: boolean
  kind: RequestKind
  needs: readonly Need[]
  /** Needs a worker drops without an error instead of refusing (Anthropic's thinking). */
  softNeeds: readonly Need[]
  /** Characters of text that become prompt tokens, tool schemas included. */
  promptChars: number
  /** Of these, what has to fit into one context: less only for a batch of embeddings. */
  contextChars: number
  images: number
  /** Output tokens asked for; undefined where the client named no bound. */
  outputTokens: number | undefined
  /** Native options.num_ctx as sent, undefined when absent or null; anything else is judged later. */
  numCtx: unknown
  /** Native keep_alive as sent, undefined when absent or null. */
  keepAlive: unknown
  /** The stream carries the worker's own usage numbers. */
  usageInStream: boolean
  /**
   * Text of the beginning of the conversation, at most 4 KiB and the same in every later turn; its
   * hash finds the worker with a warm prompt. Empty where nothing is worth finding again.
   */
  conversation: string
  /** The `user` field, a session key of the body or metadata.user_id; vouched for by nobody. */
  user: string | undefined
  /** Open WebUI's titles, tags and follow-ups: they may wait. */
  background: boolean
}

/** Half-open byte range [start, end) of a value in the body. */
export interface Span {
  start: number
  end: number
}

/** Where the values are that the gateway may have to replace. */
export interface BodySpans {
  /** Of the first JSON value; what follows it is not sent on. */
  whole: Span
  model: Span | undefined
  keepAlive: Span | undefined
  numCtx: Span | undefined
}

/** How one client protocol words a failure. */
export interface ErrorForm {
  contentType: string
  body(error: GatewayError, requestId: string): string
  /**
   * The last event of a stream that broke after its first byte. `sent` is the end of what the
   * client has so far: an open frame is closed first, and numbered events go on from its number.
   */
  streamTail(error: GatewayError, requestId: string, sent?: Buffer): string
}

/** Token counts as a worker reported them; undefined where it said nothing. */
export interface Usage {
  promptTokens: number | undefined
  outputTokens: number | undefined
  /** Nanoseconds the worker says it spent, native dialect only. */
  promptNs: number | undefined
  outputNs: number | undefined
  loadNs: number | undefined
}

/** What the end of an answer says about the whole. */
export interface Ending {
  /** The dialect's terminator was seen: native done:true, [DONE], message_stop, response.completed. */
  complete: boolean
  /** The worker's own error. An answer with one is never complete, terminator or not. */
  error: string | undefined
  /** The client has read the failure in the answer itself: it must not be told again. */
  told: boolean
  usage: Usage
}

export interface Dialect {
  name: DialectName
  errors: ErrorForm
  /** Framing of a streamed answer; `none` where the dialect never streams to the client. */
  framing: 'ndjson' | 'sse' | 'none'
  /** A frame that says nothing and that every client skips; undefined where there is none. */
  heartbeat: string | undefined
  /** Reads the facts of a decoded body. Throws GatewayError invalid_request in Ollama's wording. */
  read(body: Readonly<Record<string, unknown>>, path: string): RequestFacts
  /**
   * Judges an answer by its last bytes (at least the last 16 KiB of it, fewer only if it was
   * shorter). `streamed` tells NDJSON/SSE from one JSON document.
   */
  ending(tail: Buffer, streamed: boolean): Ending
}
