// What clients ask about the fleet itself: answered from memory, whether workers are up or not.
// No request here waits for anything. Lists are kept as bytes until what they are made of changes.

import type { OutgoingHttpHeaders } from 'node:http'
import type { ModelAccess } from '../access/visitor.ts'
import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Installed, LoadedModel, Worker } from '../fleet/worker.ts'
import type { ParsedName } from '../policy/model-name.ts'
import { sendAnswer } from './answer.ts'
import { listWarning, lowestVersion, mergedInstalled, mergedLoaded } from './merged-models.ts'
import { modelList, modelObject, psRow, shownWorkers, tagsRow } from './merged-models.ts'
import { allowedRows } from './allowed-rows.ts'
import type { RequestContext } from './request-context.ts'
import type { DiscoveryRoute } from './routes.ts'

export interface DiscoveryDeps {
  clock: Clock
  /** In config order. */
  workers(): readonly Worker[]
  /** A model as a client spells it, aliases resolved. */
  readName(raw: string): ParsedName
  /** Names that are listed beside the models they stand for. */
  aliases(): Readonly<Record<string, string>>
}

export interface Discovery {
  handle(ctx: RequestContext, name: DiscoveryRoute): void
  /** `GET /v1/models/{id}`. Throws GatewayError where clients are shown no such model. */
  handleModel(ctx: RequestContext, id: string): void
}

const TEXT = 'text/plain; charset=utf-8'
const NATIVE = 'application/json; charset=utf-8'
const V1 = 'application/json'

const RUNNING = 'Ollama is running'
const STATUS = JSON.stringify({ cloud: { disabled: true, source: 'config' } })
const NO_RECOMMENDATIONS = JSON.stringify({ recommendations: [] })

interface Part {
  type: string
  body: Buffer | string
  /** Made out of what workers said, so that a worker that said nothing may be missed. */
  merged: boolean
}

export function createDiscovery(deps: DiscoveryDeps): Discovery {
  const installed = remembered(mergedInstalled, ({ inventory, placement }) => [
    inventory.state === 'known' ? inventory.models : undefined,
    placement,
  ])
  const loaded = remembered(mergedLoaded, ({ loaded: state, placement }) => [
    state.state === 'known' ? state.models : undefined,
    placement,
  ])
  const shown = (): readonly Worker[] => shownWorkers(deps.workers(), deps.clock.mono())
  const tags = bytesOf(
    (rows: ReadonlyMap<string, Installed>) => ({ models: [...rows.values()].map(tagsRow) }),
    '',
  )
  const models = listedModels(deps)
  const ps = bytesOf(
    (rows: ReadonlyMap<string, LoadedModel>) => ({ models: [...rows.values()].map(psRow) }),
    '',
  )

  function part(name: DiscoveryRoute, access: ModelAccess): Part {
    switch (name) {
      case 'root':
        return { type: TEXT, body: RUNNING, merged: false }
      case 'hello':
        return { type: TEXT, body: '', merged: false }
      case 'version': {
        const version = lowestVersion(shown().map((worker) => worker.version))
        return { type: NATIVE, body: JSON.stringify({ version }), merged: false }
      }
      case 'status':
        return { type: NATIVE, body: STATUS, merged: false }
      case 'recommendations':
        return { type: NATIVE, body: NO_RECOMMENDATIONS, merged: false }
      case 'tags':
        return { type: NATIVE, body: tags(allowedRows(installed(shown()), access)), merged: true }
      case 'ps':
        return { type: NATIVE, body: ps(allowedRows(loaded(shown()), access)), merged: true }
      case 'models':
        return { type: V1, body: models(allowedRows(installed(shown()), access)), merged: true }
    }
  }

  return {
    handle(ctx, name) {
      const { type, body, merged } = part(name, ctx.visitor.models)
      const headers: OutgoingHttpHeaders = { 'content-type': type }
      const warning = merged ? listWarning(deps.workers()) : undefined
      if (warning !== undefined) headers['x-ogw-warning'] = warning
      sendAnswer(ctx, { status: 200, headers, body })
    },
    handleModel(ctx, id) {
      const row = findInstalled(
        allowedRows(installed(shown()), ctx.visitor.models),
        deps.readName(id),
      )
      const body = `${JSON.stringify(modelObject(id, row))}\n`
      sendAnswer(ctx, { status: 200, headers: { 'content-type': V1 }, body })
    },
  }
}

/** With the aliases before the models; made again also when other aliases are configured. */
function listedModels(deps: DiscoveryDeps): (rows: ReadonlyMap<string, Installed>) => Buffer {
  let of: Readonly<Record<string, string>> | undefined
  let bytes: ((rows: ReadonlyMap<string, Installed>) => Buffer) | undefined
  return (rows) => {
    const aliases = deps.aliases()
    if (bytes === undefined || of !== aliases) {
      of = aliases
      bytes = bytesOf((of: typeof rows) => modelList(withAliases(deps, aliases, of)), '\n')
    }
    return bytes(rows)
  }
}

function withAliases(
  { readName }: DiscoveryDeps,
  aliases: Readonly<Record<string, string>>,
  rows: ReadonlyMap<string, Installed>,
): [string, Installed][] {
  const named = Object.keys(aliases).flatMap((alias): [string, Installed][] => {
    const parsed = readName(alias)
    const row = parsed.ok ? rows.get(parsed.name.key) : undefined
    return row === undefined ? [] : [[alias, row]]
  })
  return [...named, ...[...rows.values()].map((row): [string, Installed] => [row.model.name, row])]
}

function findInstalled(rows: ReadonlyMap<string, Installed>, parsed: ParsedName): Installed {
  if (!parsed.ok) throw new GatewayError({ code: 'invalid_request', detail: parsed.reason })
  const row = rows.get(parsed.name.key)
  if (row !== undefined) return row
  const detail = `model '${parsed.name.display}' not found`
  throw new GatewayError({ code: 'not_found', detail })
}

type Of<T> = (workers: readonly Worker[]) => T

/** Builds again only when a worker came or went, or one of its inputs is another object. */
function remembered<T>(build: Of<T>, inputsOf: (worker: Worker) => readonly unknown[]): Of<T> {
  let last: { inputs: readonly unknown[]; value: T } | undefined
  return (workers) => {
    const inputs = workers.flatMap(inputsOf)
    if (last === undefined || !sameItems(last.inputs, inputs)) {
      last = { inputs, value: build(workers) }
    }
    return last.value
  }
}

function bytesOf<T extends object>(shape: (value: T) => object, end: string): (value: T) => Buffer {
  const made = new WeakMap<T, Buffer>()
  return (value) => {
    const known = made.get(value)
    if (known !== undefined) return known
    const bytes = Buffer.from(JSON.stringify(shape(value)) + end)
    made.set(value, bytes)
    return bytes
  }
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
