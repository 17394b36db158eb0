// What the handling of one inference request needs from the rest of the gateway, as functions:
// a test's rig gives its own.

import type { Dispatcher } from 'undici'
import type { Identity } from '../access/identity.ts'
import type { Admission, Ask } from '../admission/ask.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { Dialect, RequestFacts } from '../dialects/dialect.ts'
import type { FleetEvent } from '../fleet/fleet-event.ts'
import type { WorkerFault } from '../fleet/worker-faults.ts'
import type { NumCtxVerdict } from '../policy/context-guard.ts'
import type { Reservation } from '../policy/credits.ts'
import type { ModelName } from '../policy/model-name.ts'
import type { RequestRecord } from '../observe/request-record.ts'
import type { ActiveRequests } from './active-requests.ts'
import type { ModelKnowledge } from './model-knowledge.ts'
import type { NoticeFields, NoticeName } from './notice.ts'
import type { LargeBody, ParserPool } from './parser-pool.ts'
import type { RequestContext } from './request-context.ts'
import type { ProbeResult } from './silence-watch.ts'
import type { TokenRatios } from './token-ratios.ts'
import type { UpstreamTarget } from './upstream-request.ts'

/** Where an attempt goes: the worker's current address at the time of the grant. */
export interface Upstream extends UpstreamTarget {
  worker: string
  address: string
  dispatcher: Dispatcher
  /** A connection of its own, for the one replay after a stale pooled socket. */
  fresh(): Dispatcher
}

export interface EmptyLoad {
  modelKey: string
  embedding: boolean
}

export type LoadResult =
  | { ok: true }
  /** `absent`: it does not answer; `refused`: it says that it cannot. */
  | { ok: false; why: 'absent' | 'refused'; error: string }

export interface InferenceDeps {
  clock: Clock
  config(): Pick<
    Config,
    'admission' | 'upstream' | 'model_capabilities' | 'aliases' | 'fallbacks' | 'keep_alive'
  >
  parsers: ParserPool
  admission: Admission
  active: ActiveRequests
  knowledge: ModelKnowledge
  ratios: TokenRatios
  /** What is only warned of about a request that a worker got (mode `observe`). */
  warnings(worker: string, ask: Ask): readonly string[]
  /** What becomes of the request's num_ctx there; undefined where it has none. */
  numCtxFor(worker: string, ask: Ask): NumCtxVerdict | undefined
  versionOf(worker: string): string | undefined
  /** For operators: something that they can change. */
  notice(event: NoticeName, fields: NoticeFields): void
  /** Loads the model without a prompt and reads again what the worker has loaded. */
  loadEmpty(worker: string, need: EmptyLoad, signal: AbortSignal): Promise<LoadResult>
  /** Undefined while the worker has no address that answers. */
  upstream(worker: string): Upstream | undefined
  probe(worker: string, address: string, signal: AbortSignal): Promise<ProbeResult>
  tell(event: FleetEvent): void
  /** The worker's own spelling of a model it has installed. */
  spelling(worker: string, modelKey: string): string | undefined
  classify(status: number, body: string): WorkerFault
  /** The sentence in a worker's error body. */
  errorText(body: string): string
  identify(ctx: RequestContext, facts: RequestFacts): Identity
  unload(request: InferenceRequest): Promise<Answerable>
  /** Whether traces that begin here are recorded. */
  recordsTraces(): boolean
  /** Reserves what it may cost. Throws GatewayError credits_spent. */
  charge(request: InferenceRequest): Reservation | undefined
  /** Books the request once it is over. What it throws changes nothing. */
  done(record: RequestRecord): void
}

/** A whole answer that the gateway words itself. */
export interface Answerable {
  status: number
  contentType: string
  body: string
}

/** One request as it was read. */
export interface InferenceRequest extends LargeBody {
  ctx: RequestContext
  dialect: Dialect
  facts: RequestFacts
  /** The model that runs: the one asked for, or what an alias or a fallback made of it. */
  name: ModelName
  /** How it came to be that one: an alias is put back in the answer, a fallback is not. */
  means: 'itself' | 'alias' | 'fallback'
  identity: Identity
}
