// Reads a request body within its limits: bytes, silence, encoding. Nothing over 1 MiB is parsed
// on the serving loop.

import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import type { Clock } from '../clock.ts'
import { coarseTimersOf } from './coarse-timers.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { JsonRecord } from '../dialects/json-fields.ts'
import { emptyBody } from '../dialects/request-model.ts'
import { BodyBytes } from './body-bytes.ts'
import { parseBody, parseObject } from './parse-body.ts'
import type { LargeBody, ParserPool } from './parser-pool.ts'
import { readFormFields } from './read-form.ts'
import type { RequestContext } from './request-context.ts'

/** Above this a body is parsed by a thread: JSON.parse takes about 5 ms for 1 MiB. */
const PARSE_ON_LOOP_BYTES = 1024 * 1024
/** A client that sends nothing for this long in the middle of a body has gone. */
const BODY_SILENCE_MS = 60_000
/** Ollama's own cap for zstd bodies (ollama-api.md §3.5). */
const ZSTD_OUTPUT_BYTES = 20 * 1024 * 1024

export interface BodyReader {
  clock: Clock
  maxBytes: number
  parsers: ParserPool
}

/** Throws GatewayError body_too_large, unsupported_encoding or invalid_request. */
export async function readRequestBody(
  reader: BodyReader,
  ctx: RequestContext,
  dialect: Dialect,
): Promise<LargeBody> {
  const { req, path } = ctx
  const sent = await readBytes(reader, ctx)
  const bytes = await decoded(sent, req.headers['content-encoding'], path)
  if (bytes.length === 0) throw emptyBody(path)
  if (dialect.name === 'openai-audio') return { bytes, parsed: readForm(dialect, req, bytes, path) }
  if (bytes.length > PARSE_ON_LOOP_BYTES) return reader.parsers.parse(bytes, path)
  return { bytes, parsed: parseBody(bytes, dialect, path) }
}

/** A small JSON body as an object. Throws GatewayError invalid_request. */
export async function readJsonBody(
  reader: Pick<BodyReader, 'clock' | 'maxBytes'>,
  ctx: RequestContext,
): Promise<JsonRecord> {
  const sent = await readBytes(reader, ctx)
  const bytes = await decoded(sent, ctx.req.headers['content-encoding'], ctx.path)
  if (bytes.length === 0) throw emptyBody(ctx.path)
  return parseObject(bytes, ctx.path)
}

/** The whole body as sent. The length that was announced is judged before a byte is read. */
export function readBytes(
  { clock, maxBytes }: Pick<BodyReader, 'clock' | 'maxBytes'>,
  { req, acceptBody }: Pick<RequestContext, 'req' | 'acceptBody'>,
): Promise<Buffer> {
  const announced = Number(req.headers['content-length'])
  if (announced > maxBytes) return Promise.reject(tooLarge(maxBytes))
  acceptBody()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const body = new BodyBytes(announced, maxBytes)
  let over = false
  const timers = coarseTimersOf(clock)
  const silence = {
    dueAt: clock.mono() + BODY_SILENCE_MS,
    onDue: () =>
      refuse(`the request body stopped after ${body.length} bytes for ${BODY_SILENCE_MS} ms`),
  }
  timers.watch(silence)

  function done(): void {
    over = true
    timers.unwatch(silence)
  }
  function refuse(detail: string): void {
    if (over) return
    done()
    reject(invalid(detail))
  }
  req.on('data', (chunk: Buffer) => {
    if (over) return
    silence.dueAt = clock.mono() + BODY_SILENCE_MS
    if (body.length + chunk.length <= maxBytes) {
      body.push(chunk)
      return
    }
    done()
    reject(tooLarge(maxBytes))
  })
  req.once('end', () => {
    if (over) return
    done()
    resolve(body.joined())
  })
  // An error on the request is followed by its close.
  req.once('close', () => refuse('the request body ended early'))
  return promise
}

const decompress = promisify(zstdDecompress)

/** Ollama takes zstd on its /v1 routes and nothing else anywhere (ollama-api.md §10). */
async function decoded(bytes: Buffer, encoding: string | undefined, path: string): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return bytes
  if (name !== 'zstd' || !path.startsWith('/v1/')) {
    throw new GatewayError({ code: 'unsupported_encoding', encoding: name.slice(0, 40) })
  }
  try {
    return await decompress(bytes, { maxOutputLength: ZSTD_OUTPUT_BYTES })
  } catch (cause) {
    throw new GatewayError(
      {
        code: 'invalid_request',
        detail: `failed to decompress zstd body (limit ${ZSTD_OUTPUT_BYTES} bytes)`,
      },
      { cause },
    )
  }
}

function readForm(
  dialect: Dialect,
  req: IncomingMessage,
  bytes: Buffer,
  path: string,
): LargeBody['parsed'] {
  const fields = readFormFields(bytes, req.headers['content-type'] ?? '')
  const whole = { start: 0, end: bytes.length }
  return {
    facts: dialect.read(fields, path),
    spans: { whole, model: undefined, keepAlive: undefined, numCtx: undefined },
  }
}

function tooLarge(limitBytes: number): GatewayError {
  return new GatewayError({ code: 'body_too_large', limitBytes })
}

function invalid(detail: string): GatewayError {
  return new GatewayError({ code: 'invalid_request', detail })
}
