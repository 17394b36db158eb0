// /_sim/…: how a simulated worker that is a process of its own is looked at and
// made to fail. JSON in, JSON out.

import { FAULT_KINDS, type Fault } from './faults.ts'
import type { ModelSpec } from './models.ts'
import { parseName } from './names.ts'
import { printRequest } from './record.ts'
import type { Sim } from './sim.ts'

export interface ControlAnswer {
  status: number
  body: unknown
}

type Operation = (sim: Sim, input: Record<string, unknown>) => unknown

class ControlError extends Error {
  override readonly name = 'ControlError'
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /_sim/state': stateOf,
  'GET /_sim/record': recordOf,
  'POST /_sim/record/reset': (sim) => {
    sim.record.reset()
    sim.events.reset()
    return {}
  },
  'GET /_sim/events': (sim) => ({ events: sim.events.all() }),
  'GET /_sim/faults': (sim) => ({ faults: sim.faults.list() }),
  'POST /_sim/faults': addFaults,
  'DELETE /_sim/faults': (sim, { id }) => {
    if (typeof id === 'number') sim.faults.remove(id)
    else sim.faults.clear()
    return {}
  },
  'GET /_sim/models': (sim) => ({
    models: sim.inventory.list().map(({ name, digest }) => ({ name, digest })),
  }),
  'POST /_sim/models': replaceModels,
  'POST /_sim/models/add': (sim, { models }) => {
    for (const spec of specsOf(models)) sim.inventory.add(spec)
    return {}
  },
  'POST /_sim/models/remove': (sim, { name }) => ({ removed: sim.inventory.remove(String(name)) }),
  'POST /_sim/models/digest': (sim, { name, digest }) => ({
    changed: sim.inventory.setDigest(String(name), String(digest)),
  }),
  'POST /_sim/kill': (sim, { model }) => {
    const parsed = parseName(String(model))
    const found = parsed === undefined ? undefined : sim.inventory.find(parsed)
    return { killed: found !== undefined && sim.scheduler.kill(found) }
  },
  'POST /_sim/settings': (sim, input) => {
    Object.assign(sim.settings, pickSettings(sim, input))
    return { settings: sim.settings }
  },
}

/** Method and path of each, for the page about the simulation. */
export const CONTROL_ROUTES: readonly string[] = Object.keys(OPERATIONS)

export function control(sim: Sim, method: string, path: string, text: string): ControlAnswer {
  const operation = OPERATIONS[`${method} ${path}`]
  if (operation === undefined) return { status: 404, body: { error: `no ${method} ${path} here` } }
  try {
    return { status: 200, body: operation(sim, inputOf(text)) }
  } catch (error) {
    if (!(error instanceof ControlError || error instanceof SyntaxError)) throw error
    return { status: 400, body: { error: error.message } }
  }
}

function inputOf(text: string): Record<string, unknown> {
  const value: unknown = text.trim() === '' ? {} : JSON.parse(text)
  if (typeof value !== 'object' || value === null)
    throw new ControlError('a JSON object is expected')
  // A list is accepted where a list of faults or models is meant.
  return Array.isArray(value) ? { faults: value, models: value } : { ...value }
}

/** What the scheduler holds and how it is set up, for people and tests. */
export function stateOf(sim: Sim): Record<string, unknown> {
  return {
    version: sim.settings.version,
    settings: sim.settings,
    loaded: sim.scheduler.loaded().map((runner) => ({
      model: runner.model.name,
      num_ctx: runner.numCtx,
      running: runner.running(),
      waiting: runner.waiting(),
      requests: runner.refCount,
      session_ms: runner.sessionMs,
      expires_at: runner.expiresAt,
    })),
    loading: sim.scheduler.loading()?.model.name ?? null,
    pending: sim.scheduler.pending(),
    models: sim.inventory.list().map(({ name }) => name),
    faults: sim.faults.list(),
    concurrency: sim.record.concurrency(),
    connections: sim.record.connections(),
    counts: sim.record.counts(),
    memory: process.memoryUsage.rss(),
  }
}

function recordOf(sim: Sim): Record<string, unknown> {
  return {
    requests: sim.record.requests().map(printRequest),
    counts: sim.record.counts(),
    concurrency: sim.record.concurrency(),
    connections: sim.record.connections(),
  }
}

function addFaults(sim: Sim, input: Record<string, unknown>): unknown {
  const given: unknown[] = Array.isArray(input['faults']) ? input['faults'] : [input]
  for (const fault of given) {
    const kind = (fault as { kind?: unknown }).kind
    if (typeof kind !== 'string' || !FAULT_KINDS.has(kind)) {
      throw new ControlError(`no such fault: ${JSON.stringify(kind)}`)
    }
  }
  // The kind is checked; a wrong field of a fault shows in what it does, in a test tool.
  return { ids: given.map((fault) => sim.faults.add(fault as Fault)) }
}

function replaceModels(sim: Sim, { models }: Record<string, unknown>): unknown {
  sim.inventory.replace(specsOf(models))
  return { models: sim.inventory.list().map(({ name }) => name) }
}

export function specsOf(models: unknown): (ModelSpec | string)[] {
  if (!Array.isArray(models)) throw new ControlError('"models" is a list of names or of models')
  return models.map((item: unknown) => {
    const name = typeof item === 'string' ? item : (item as { name?: unknown } | null)?.name
    if (typeof name !== 'string' || parseName(name) === undefined) {
      throw new ControlError(`not a model: ${JSON.stringify(item)}`)
    }
    // The name is checked; the rest is only shown again.
    return item as ModelSpec | string
  })
}

/** Known settings of the right type; the address cannot change any more. */
function pickSettings(sim: Sim, input: Record<string, unknown>): Record<string, unknown> {
  const fixed = new Set(['host', 'port', 'version', 'seed'])
  for (const [key, value] of Object.entries(input)) {
    const known: unknown = Reflect.get(sim.settings, key)
    const number = key === 'defaultContext' && typeof value === 'number'
    if (fixed.has(key) || (!number && (known === undefined || typeof known !== typeof value))) {
      throw new ControlError(`no such setting, or not changeable: ${key}`)
    }
  }
  return input
}
