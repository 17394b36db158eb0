// What the handling of inference requests is given by the parts.

import { identityOf } from '../access/identity.ts'
import { classify, errorMessage } from '../fleet/worker-faults.ts'
import { splitAddress } from '../fleet/worker-api.ts'
import { unloadOn } from '../fleet/worker-control.ts'
import { installedOn } from '../fleet/worker.ts'
import type { Address, Worker } from '../fleet/worker.ts'
import type { CreditLedger } from '../policy/credits.ts'
import type { Observer } from '../observe/observer.ts'
import { unloadEverywhere } from '../proxy/handle-unload.ts'
import type { InferenceDeps, Upstream } from '../proxy/inference-deps.ts'
import { chargeFor } from '../proxy/charge.ts'
import { ModelKnowledge } from '../proxy/model-knowledge.ts'
import type { ParserPool } from '../proxy/parser-pool.ts'
import { TokenRatios } from '../proxy/token-ratios.ts'
import { loadEmpty } from './load-empty.ts'
import type { GatewayParts } from './parts.ts'

interface Shared {
  credits: CreditLedger
  parsers: ParserPool
  observer: Observer
}

export function inferenceDeps(
  parts: GatewayParts,
  { credits, parsers, observer }: Shared,
): InferenceDeps {
  const { clock, config, fleet, prober, scheduler, active } = parts
  return {
    clock,
    config,
    parsers,
    active,
    admission: scheduler,
    knowledge: new ModelKnowledge({
      clock,
      workers: () => fleet.workers(),
      ensure: (worker, model) => parts.infos.ensure(worker, model),
    }),
    ratios: new TokenRatios(),
    warnings: (worker, ask) => scheduler.preflight.warnings(worker, ask),
    numCtxFor: (worker, ask) => scheduler.preflight.numCtxFor(worker, ask),
    versionOf: (worker) => fleet.worker(worker)?.version,
    notice: (name, fields) => parts.notice(name, fields),
    loadEmpty: (name, need, signal) => loadEmpty(parts, fleet.worker(name), need, signal),
    upstream: (name) => upstreamOf(parts, fleet.worker(name)),
    async probe(name, address, signal) {
      const worker = fleet.worker(name)
      if (worker === undefined) return { ok: false, error: 'it is no longer configured' }
      return await prober.probeAddress(worker, address, signal)
    },
    tell(event) {
      fleet.apply(event)
      if (event.type === 'answered') parts.inventory.modelAnswered(event.worker, event.model)
    },
    spelling(name, key) {
      const worker = fleet.worker(name)
      return worker && installedOn(worker, key)?.name
    },
    classify,
    errorText: (body) => errorMessage(body) ?? body.slice(0, MAX_ERROR_TEXT),
    identify: (ctx, facts) =>
      identityOf(ctx.req.headers, facts, ctx.visitor, {
        jwtSecret: config().auth.openwebui_jwt_secret,
        now: clock.now(),
      }),
    unload: (request) =>
      unloadEverywhere(
        {
          now: () => clock.now(),
          workers: () => fleet.workers(),
          unloadOn: (worker, model) => unloadOn(clock, worker, model),
        },
        request,
      ),
    recordsTraces: () => config().otel.endpoint !== null,
    charge: (request) => chargeFor(credits, request, clock.now()),
    done: (record) => observer.requestDone(record),
  }
}

/** A worker's error page may be long; its beginning says what it is. */
const MAX_ERROR_TEXT = 500

function upstreamOf({ pools }: GatewayParts, worker: Worker | undefined): Upstream | undefined {
  const index = worker?.current
  if (worker === undefined || index === undefined) return undefined
  const address = worker.addresses[index]
  if (address === undefined) return undefined
  return {
    worker: worker.name,
    address: address.url,
    pathPrefix: prefixOf(address),
    headers: worker.config.headers,
    dispatcher: pools.poolFor(worker, index),
    fresh: () => pools.freshFor(worker, address),
  }
}

const prefixes = new WeakMap<Address, string>()

/** Parsing the URL of an address for each request would be a good part of its cost. */
function prefixOf(address: Address): string {
  const known = prefixes.get(address)
  if (known !== undefined) return known
  const { prefix } = splitAddress(address.url)
  prefixes.set(address, prefix)
  return prefix
}
