// One worker's record and how an event changes it. Only the fleet calls this; it is a file of its
// own because the table of events is long.

import type { WorkerConfig } from '../config/schema.ts'
import { breakerAnswer, breakerFault, closedBreaker } from '../policy/breaker.ts'
import type { BreakerLimits } from '../policy/breaker.ts'
import { compilePlacement } from '../policy/placement.ts'
import { nextHealth } from '../policy/worker-health.ts'
import type { Rates } from '../policy/throughput.ts'
import type { Health, HealthEvent, Now } from '../policy/worker-health.ts'
import type { ProbeResult } from './fleet-event.ts'
import { changeKnowledge, isKnowledge, without } from './worker-knowledge.ts'
import type { Mutable, WorkerEvent } from './worker-knowledge.ts'
import { currentAddress } from './worker.ts'
import type { Address, Worker } from './worker.ts'

export interface WorkerRecord extends Mutable<Worker> {
  /** Changed in place: it is learned with every request. */
  rates: Map<string, Rates>
  /** Failed periodic rounds in a row. */
  misses: number
  /** With probes off: where the address was that failed last. */
  restedFrom: number
  /** The current address as operators were told it last. */
  announced: Address | undefined
}

/** What a change depends on besides the event. */
export interface ChangeContext {
  now: Now
  breaker: BreakerLimits
  /** Bytes of an answer flow from the worker now. */
  alive: boolean
}

/** A worker of which only the config is known. With probes off it counts as up. */
export function newRecord(config: WorkerConfig, index: number, now: Now): WorkerRecord {
  const probed = config.probe.interval !== 'off'
  return {
    name: config.name,
    index,
    config,
    addresses: config.urls.map(newAddress),
    current: probed ? undefined : 0,
    health: probed ? { state: 'starting' } : { state: 'up', sinceMono: now.mono },
    version: undefined,
    probeMs: undefined,
    draining: false,
    placement: compilePlacement(config.model_placement),
    placementLayer: 'config',
    inventory: { state: 'unknown', error: undefined },
    loaded: { state: 'unknown', error: undefined },
    info: new Map(),
    breaker: closedBreaker,
    loadCoolDowns: new Map(),
    rates: new Map(),
    telemetry: undefined,
    telemetryError: undefined,
    nextProbeAt: undefined,
    misses: 0,
    restedFrom: 0,
    announced: undefined,
  }
}

/** The worker under a changed config: what is known of it and of its addresses stays. */
export function reconfigure(record: WorkerRecord, config: WorkerConfig, index: number, now: Now) {
  const before = record.addresses
  const currentUrl = currentAddress(record)?.url
  record.index = index
  record.config = config
  record.addresses = config.urls.map(
    (url) => before.find((address) => address.url === url) ?? newAddress(url),
  )
  const kept = currentUrl === undefined ? -1 : config.urls.indexOf(currentUrl)
  record.current = kept === -1 ? undefined : kept
  if (kept === -1 && record.health.state === 'up') record.health = { state: 'starting' }
  if (config.probe.interval === 'off' && record.current === undefined) {
    record.current = 0
    record.health = { state: 'up', sinceMono: now.mono }
    record.nextProbeAt = undefined
  }
  if (record.placementLayer === 'config') {
    record.placement = compilePlacement(config.model_placement)
  }
}

/** Changes the record as the event says. False where nothing is different afterwards. */
export function changeRecord(
  record: WorkerRecord,
  event: WorkerEvent,
  context: ChangeContext,
): boolean {
  if (isKnowledge(event)) return changeKnowledge(record, event, context.now)
  switch (event.type) {
    case 'probed':
      return probed(record, event.address, event.result)
    case 'round_ended':
    case 'transport_fault':
    case 'silent':
    case 'answered':
    case 'rested':
      return judged(record, event, context)
    case 'probe_planned':
      record.nextProbeAt = event.at
      return true
    case 'draining':
      if (record.draining === event.draining) return false
      record.draining = event.draining
      return true
    case 'placed':
      record.placement = event.placement
      record.placementLayer = event.layer
      return true
    case 'telemetry':
      record.telemetry = event.telemetry
      record.telemetryError = event.error
      return true
  }
}

type JudgedEvent = Extract<
  WorkerEvent,
  { type: 'round_ended' | 'transport_fault' | 'silent' | 'answered' | 'rested' }
>

/** Events that say whether the worker is there. */
function judged(record: WorkerRecord, event: JudgedEvent, context: ChangeContext): boolean {
  switch (event.type) {
    case 'round_ended':
      return roundEnded(record, event, context)
    case 'silent':
      setError(record, event.address, event.error)
      return lost(record, event, context)
    case 'transport_fault':
      setError(record, event.address, event.error)
      record.breaker = breakerFault(record.breaker, context.breaker, context.now.mono)
      if (record.config.probe.interval === 'off') lost(record, event, context)
      return true
    case 'answered': {
      const breaker = breakerAnswer(record.breaker, context.now.mono)
      const cooled = without(record.loadCoolDowns, event.model)
      const news = breaker !== record.breaker || cooled !== record.loadCoolDowns
      record.breaker = breaker
      record.loadCoolDowns = cooled
      // A worker that answers while it counts as down is worth a probe: whoever probes hears of it.
      return news || record.health.state === 'down'
    }
    case 'rested':
      if (record.config.probe.interval !== 'off' || record.health.state === 'up') return false
      // Nothing was probed: the next address has its turn, as the failed one had.
      record.current = (record.restedFrom + 1) % record.addresses.length
      record.health = { state: 'up', sinceMono: context.now.mono }
      return true
  }
}

function roundEnded(
  record: WorkerRecord,
  event: Extract<WorkerEvent, { type: 'round_ended' }>,
  context: ChangeContext,
): boolean {
  if (event.answered === undefined) {
    const { failures_to_down } = record.config.probe
    return setHealth(record, context, {
      type: 'unanswered',
      error: event.error,
      periodic: event.periodic,
      failuresToDown: failures_to_down,
    })
  }
  const address = record.addresses.findIndex(({ url }) => url === event.answered)
  // The config changed during the round: the next one asks the addresses of now.
  if (address === -1) return false
  return setHealth(record, context, { type: 'answered', address })
}

function lost(
  record: WorkerRecord,
  event: { address: string; error: string },
  context: ChangeContext,
): boolean {
  const address = record.addresses.findIndex(({ url }) => url === event.address)
  if (address === -1) return true
  const probesOff = record.config.probe.interval === 'off'
  record.restedFrom = address
  const addresses = probesOff ? 1 : record.addresses.length
  setHealth(record, context, { type: 'lost', address, error: event.error, addresses })
  return true
}

function setHealth(record: WorkerRecord, context: ChangeContext, event: HealthEvent): boolean {
  const { health, current, misses } = record
  const next = nextHealth({ health, current, misses }, event, context.now, context.alive)
  record.health = next.health
  record.current = next.current
  record.misses = next.misses
  return !sameHealth(health, next.health) || current !== next.current
}

function sameHealth(a: Health, b: Health): boolean {
  return a.state === b.state && (a.state !== 'down' || b.state !== 'down' || a.error === b.error)
}

function probed(record: WorkerRecord, url: string, result: ProbeResult): boolean {
  const index = record.addresses.findIndex((address) => address.url === url)
  const before = record.addresses[index]
  if (before === undefined) return false
  if (result.ok && result.tookMs !== undefined) record.probeMs = result.tookMs
  const after: Address = result.ok
    ? { url, ip: result.ip ?? before.ip, lastError: undefined }
    : { ...before, lastError: result.error }
  const newVersion = result.ok && result.version !== undefined && result.version !== record.version
  if (after.ip === before.ip && after.lastError === before.lastError && !newVersion) return false
  record.addresses = record.addresses.with(index, after)
  if (result.ok && newVersion) {
    // Another version may read the same model differently: what it showed is asked again.
    if (record.version !== undefined) record.info = new Map()
    record.version = result.version
  }
  return true
}

function setError(record: WorkerRecord, url: string, error: string): void {
  record.addresses = record.addresses.map((address) =>
    address.url === url ? { ...address, lastError: error } : address,
  )
}

function newAddress(url: string): Address {
  return { url, ip: undefined, lastError: undefined }
}
