// The clients' side of the gateway: which handler answers what, and what each is given.

import type { Gatekeeper } from '../access/gatekeeper.ts'
import { guardRulesOf } from '../access/guard-rules.ts'
import type { GuardRules } from '../access/http-guard.ts'
import { isLoopback, readListenAddress } from '../config/address.ts'
import type { Config } from '../config/schema.ts'
import { passOn } from '../fleet/worker-stream.ts'
import type { Worker } from '../fleet/worker.ts'
import type { Log } from '../observe/log.ts'
import { resolveModel } from '../policy/resolve-model.ts'
import { handleCountTokens } from '../proxy/handle-count-tokens.ts'
import { createDiscovery } from '../proxy/handle-discovery.ts'
import { handleInference } from '../proxy/handle-inference.ts'
import { handleManagement } from '../proxy/handle-management.ts'
import { handleRequest } from '../proxy/handle-request.ts'
import type { RequestDeps } from '../proxy/handle-request.ts'
import { handleShow } from '../proxy/handle-show.ts'
import type { InferenceDeps } from '../proxy/inference-deps.ts'
import { readBytes, readJsonBody } from '../proxy/read-body.ts'
import type { RequestContext } from '../proxy/request-context.ts'
import { createClientServer } from '../proxy/server.ts'
import type { ClientServer } from '../proxy/server.ts'
import type { GatewayParts } from './parts.ts'

export function makeClientServer(
  parts: GatewayParts,
  log: Log,
  { inference, gatekeeper }: { inference: InferenceDeps; gatekeeper: Gatekeeper },
): ClientServer {
  const { clock, fleet, infos, config } = parts
  const workers = (): readonly Worker[] => fleet.workers()
  const readName = (raw: string) => resolveModel(config().aliases, raw)
  const discovery = createDiscovery({ clock, workers, readName, aliases: () => config().aliases })
  const readJson = (ctx: RequestContext) =>
    readJsonBody({ clock, maxBytes: config().admission.max_body_bytes }, ctx)
  const guard = guardRules(config)
  const deps: RequestDeps = {
    guard,
    admit: ({ req: { headers, method = 'GET' }, path, query, pathKey }, need) =>
      gatekeeper.admit({ headers, method, path, query, pathKey }, need),
    handleInference: (ctx, dialect) => handleInference(inference, ctx, dialect),
    handleDiscovery: (ctx, name) => discovery.handle(ctx, name),
    handleModel: (ctx, id) => discovery.handleModel(ctx, id),
    handleShow: (ctx) =>
      handleShow(
        {
          workers,
          readName,
          readJson,
          show: (worker, model, verbose) => infos.show(worker, model, verbose),
        },
        ctx,
      ),
    handleManagement: (ctx, name) =>
      handleManagement(
        {
          workers,
          readBytes: (of) => readBytes({ clock, maxBytes: config().admission.max_body_bytes }, of),
          send: passOn,
          refresh: (worker) => void parts.inventory.readNow(worker),
          tell: (act, fields) => parts.notice(`client.${act}`, fields),
        },
        ctx,
        name,
      ),
    handleCountTokens: (ctx) =>
      handleCountTokens(
        {
          readJson,
          tokensPerImage: () => config().model_capabilities.context.vision_reserve_tokens_per_image,
        },
        ctx,
      ),
  }
  return createClientServer({
    clock,
    handle: (ctx) => handleRequest(deps, ctx),
    onBug: (ctx, error) => log.bug('request.bug', error, { request: ctx.id, path: ctx.path }),
  })
}

/** The rules are made anew when another config runs. */
function guardRules(config: () => Config): () => GuardRules {
  let of: Config | undefined
  let rules: GuardRules | undefined
  return () => {
    const current = config()
    if (rules === undefined || of !== current) {
      of = current
      const address = readListenAddress(current.listen)
      rules = guardRulesOf(current, address !== undefined && isLoopback(address.host))
    }
    return rules
  }
}
