// Sends spans to an OpenTelemetry collector over OTLP/HTTP with JSON, in batches and off the path
// of requests. A collector that is slow or gone costs spans, never requests (docs/adr/0008).

import { request as requestHttps } from 'node:https'
import type { Timer } from '../clock.ts'
import { request as requestHttp } from '../node-http.ts'
import { otlpDocument, spanOf } from './otlp-span.ts'
import type { Span } from './otlp-span.ts'
import type { RequestRecord } from './request-record.ts'
import type { TraceSinkDeps } from './trace-sink.ts'

/** Beyond it the oldest spans are dropped. */
const MAX_SPANS = 2_048
const BATCH = 512
const BATCH_MS = 2_000
const TIMEOUT_MS = 10_000
/** A gateway that ends does not wait longer for its collector. */
const LAST_TIMEOUT_MS = 2_000
const TRACES = '/v1/traces'

type Deps = Omit<TraceSinkDeps, 'endpoint'>

export class OtlpExporter {
  readonly #deps: Deps
  readonly #resource: Readonly<Record<string, string>>
  readonly #headers: Readonly<Record<string, string>>
  #spans: Span[] = []
  #dropped = 0
  #endpoint = ''
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #failing = false
  #stopped = false

  constructor(deps: Deps) {
    this.#deps = deps
    const { env, version } = deps
    this.#headers = pairsOf(env['OTEL_EXPORTER_OTLP_HEADERS'])
    this.#resource = {
      'service.name': 'ogw',
      'service.version': version,
      ...pairsOf(env['OTEL_RESOURCE_ATTRIBUTES']),
      ...(env['OTEL_SERVICE_NAME'] === undefined
        ? {}
        : { 'service.name': env['OTEL_SERVICE_NAME'] }),
    }
  }

  add(record: RequestRecord, endpoint: string): void {
    if (this.#stopped) return
    this.#endpoint = endpoint
    this.#spans.push(spanOf(record, this.#deps.clock.now()))
    this.#trim()
    if (this.#spans.length >= BATCH && !this.#failing) this.#send()
    else this.#timer ??= this.#deps.clock.after(BATCH_MS, () => this.#send())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#sending
    const last = this.#spans.splice(0, BATCH)
    if (last.length > 0) await this.#post(last, LAST_TIMEOUT_MS)
  }

  #send(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#sending !== undefined || this.#stopped || this.#spans.length === 0) return
    const batch = this.#spans.splice(0, BATCH)
    this.#sending = this.#post(batch, TIMEOUT_MS).then((sent) => {
      this.#sending = undefined
      if (!sent) this.#spans.unshift(...batch)
      this.#trim()
      if (this.#spans.length === 0 || this.#stopped) return
      this.#timer ??= this.#deps.clock.after(BATCH_MS, () => this.#send())
    })
  }

  #trim(): void {
    const beyond = this.#spans.length - MAX_SPANS
    if (beyond <= 0) return
    this.#spans.splice(0, beyond)
    this.#dropped += beyond
  }

  /** False where the batch is worth another try. */
  async #post(spans: readonly Span[], timeoutMs: number): Promise<boolean> {
    const body = otlpDocument(spans, this.#resource, this.#deps.version)
    const answer = await post(this.#endpoint, this.#headers, body, timeoutMs)
    const failed = answer.error !== undefined
    if (failed !== this.#failing) {
      this.#failing = failed
      if (failed) this.#deps.log.event('trace.export_failed', { reason: answer.error })
      else this.#deps.log.event('trace.export_recovered', { dropped: this.#dropped })
    }
    return !answer.again
  }
}

interface Answer {
  error: string | undefined
  /** The collector is busy or gone: the same may go through later. */
  again: boolean
}

function post(
  endpoint: string,
  own: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
): Promise<Answer> {
  const url = tracesUrl(endpoint)
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const fail = (error: Error): void => resolve({ error: error.message, again: true })
  const headers = {
    ...own,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const signal = AbortSignal.timeout(timeoutMs)
  const request = send(url, { method: 'POST', headers, signal, agent: false }, (response) => {
    response.on('error', fail)
    response.resume()
    response.on('end', () => resolve(answerOf(response.statusCode ?? 0)))
  })
  request.on('error', fail)
  request.end(body)
  return promise
}

const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504])

function answerOf(status: number): Answer {
  if (status >= 200 && status < 300) return { error: undefined, again: false }
  return { error: `the collector answered ${status}`, again: BUSY.has(status) }
}

/** The endpoint is the collector's address, or already that of its traces. */
function tracesUrl(endpoint: string): URL {
  const url = new URL(endpoint)
  const path = url.pathname.replace(/\/+$/, '')
  if (!path.endsWith(TRACES)) url.pathname = path + TRACES
  return url
}

/** `a=b,c=d` as OpenTelemetry's variables have it, values percent-encoded. */
function pairsOf(text = ''): Record<string, string> {
  const pairs = text.split(',').map((pair) => pair.split('='))
  return Object.fromEntries(
    pairs.flatMap(([name = '', ...rest]) => {
      const key = name.trim()
      return key === '' || rest.length === 0 ? [] : [[key, decoded(rest.join('=').trim())]]
    }),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a value with a bare per cent sign is meant as it stands
  }
}
