// What is known of one worker's models (installed, loaded, shown, how fast, which just failed to
// load) and how an event changes it. Whether the worker is there is not its subject.

import { coolDownAfter, isForgotten } from '../policy/cool-down.ts'
import { learn, noRates } from '../policy/throughput.ts'
import type { Rates } from '../policy/throughput.ts'
import type { Now } from '../policy/worker-health.ts'
import type { FleetEvent } from './fleet-event.ts'
import type { Installed, LoadedModel, ModelInfo, Worker } from './worker.ts'

export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

type Known = Mutable<Worker> & { rates: Map<string, Rates> }

/** Every event about one worker. */
export type WorkerEvent = Exclude<FleetEvent, { type: 'configured' }>

export type KnowledgeEvent = Extract<
  WorkerEvent,
  {
    type:
      | 'tags_read'
      | 'tags_failed'
      | 'loaded_read'
      | 'loaded_failed'
      | 'shown'
      | 'load_failed'
      | 'model_missing'
      | 'learned'
      | 'rates_restored'
  }
>

const KNOWLEDGE: ReadonlySet<WorkerEvent['type']> = new Set<KnowledgeEvent['type']>([
  'tags_read',
  'tags_failed',
  'loaded_read',
  'loaded_failed',
  'shown',
  'load_failed',
  'model_missing',
  'learned',
  'rates_restored',
])

export function isKnowledge(event: WorkerEvent): event is KnowledgeEvent {
  return KNOWLEDGE.has(event.type)
}

/** Changes the record as the event says. False where nothing is different afterwards. */
export function changeKnowledge(record: Known, event: KnowledgeEvent, now: Now): boolean {
  switch (event.type) {
    case 'tags_read':
      return tagsRead(record, event.installed, now)
    case 'tags_failed':
      return failed(record, 'inventory', event.error)
    case 'loaded_read': {
      const before = record.loaded.state === 'known' ? record.loaded.models : new Map()
      const models: ReadonlyMap<string, LoadedModel> = event.loaded ?? before
      record.loaded = { state: 'known', models, readAt: now.mono, error: undefined }
      return true
    }
    case 'loaded_failed':
      return failed(record, 'loaded', event.error)
    case 'shown':
      record.info = new Map(record.info).set(event.model, event.info)
      return true
    case 'load_failed':
      return loadFailed(record, event.model, now)
    case 'model_missing':
      if (record.inventory.state === 'unknown') return true
      record.inventory = {
        ...record.inventory,
        models: without(record.inventory.models, event.model),
      }
      return true
    case 'learned': {
      const before = record.rates.get(event.model) ?? noRates
      const after = learn(before, event.sample, now.wall)
      if (after === before) return false
      record.rates.set(event.model, after)
      return true
    }
    case 'rates_restored':
      record.rates = new Map<string, Rates>([...event.rates, ...record.rates])
      return true
  }
}

function loadFailed(record: Known, model: string, now: Now): boolean {
  const before = record.loadCoolDowns.get(model)
  const remembered = before === undefined || isForgotten(before, now.mono) ? undefined : before
  const after = coolDownAfter(remembered, now.mono)
  if (after === before) return false
  const others = [...record.loadCoolDowns].filter(([, each]) => !isForgotten(each, now.mono))
  record.loadCoolDowns = new Map(others).set(model, after)
  return true
}

function failed(record: Known, what: 'inventory' | 'loaded', error: string): boolean {
  if (record[what].error === error) return false
  if (what === 'inventory') record.inventory = { ...record.inventory, error }
  else record.loaded = { ...record.loaded, error }
  return true
}

function tagsRead(
  record: Known,
  installed: ReadonlyMap<string, Installed> | undefined,
  now: Now,
): boolean {
  const before = record.inventory.state === 'known' ? record.inventory.models : new Map()
  const models: ReadonlyMap<string, Installed> = installed ?? before
  record.inventory = { state: 'known', models, readAt: now.mono, error: undefined }
  if (installed === undefined) return true
  // What another digest showed says nothing about this one.
  const info = [...record.info].filter(([key, shown]) => isOf(shown, models.get(key)))
  if (info.length !== record.info.size) record.info = new Map(info)
  return true
}

function isOf(shown: ModelInfo, installed: Installed | undefined): boolean {
  return installed !== undefined && installed.model.digest === shown.digest
}

/** The same map where it lacks the key anyway. */
export function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  if (!map.has(key)) return map
  const rest = new Map(map)
  rest.delete(key)
  return rest
}
