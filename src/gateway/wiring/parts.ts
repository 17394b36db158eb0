// The long-lived parts of a gateway, made and joined. Nothing here runs yet: main.ts starts and
// ends them.

import { Scheduler } from '../admission/scheduler.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { Fleet } from '../fleet/fleet.ts'
import { InventoryReader } from '../fleet/inventory.ts'
import { ModelInfos } from '../fleet/model-info.ts'
import { Pools } from '../fleet/pools.ts'
import { Prober } from '../fleet/prober.ts'
import { TelemetryReader } from '../fleet/telemetry/telemetry.ts'
import type { TelemetryLog } from '../fleet/telemetry/telemetry.ts'
import { systemResolve } from '../fleet/worker-api.ts'
import { unloadOn } from '../fleet/worker-control.ts'
import type { FleetLog } from '../fleet/fleet-event.ts'
import type { EventRing } from '../observe/event-ring.ts'
import type { Log } from '../observe/log.ts'
import { ActiveRequests } from '../proxy/active-requests.ts'
import { noticesTo } from './notices.ts'

/** What admin, tests and the status of a process look into. */
export interface GatewayParts {
  clock: Clock
  config(): Config
  fleet: Fleet
  prober: Prober
  inventory: InventoryReader
  telemetry: TelemetryReader
  infos: ModelInfos
  pools: Pools
  scheduler: Scheduler
  active: ActiveRequests
  /** Tells operators, in the log and in the console. */
  notice(name: string, fields: Readonly<Record<string, string | number>>): void
}

interface PartsOptions {
  config(): Config
  clock: Clock
  env: Readonly<Record<string, string | undefined>>
  log: Log
  events: EventRing
}

export function makeParts({ config, log, events, clock, env }: PartsOptions): GatewayParts {
  const active = new ActiveRequests()
  const fleet: Fleet = new Fleet(
    {
      clock,
      log: fleetLog(log, events),
      settings: config,
      bytesFlowing: (worker) => active.bytesFlowing(worker, clock.mono(), BYTES_FLOW_MS),
    },
    config().workers,
  )
  const prober = new Prober({ fleet, clock, resolve: systemResolve, settings: config })
  const scheduler = new Scheduler({
    fleet,
    clock,
    config,
    effects: {
      unload: (worker, model) => void freeWorker({ fleet, clock, log }, worker, model),
      event(name, fields) {
        log.event(name, fields)
        const detail = `${fields.model} could not be loaded; ${fields.unloaded} was unloaded for it`
        events.add({ severity: 'warn', event: name, object: fields.worker, detail })
      },
    },
  })
  return {
    clock,
    config,
    fleet,
    prober,
    inventory: new InventoryReader({ fleet, clock, settings: config }),
    telemetry: new TelemetryReader({ fleet, clock, env, log: telemetryLog(log, events) }),
    infos: new ModelInfos({ fleet, clock, settings: config }),
    pools: new Pools(fleet, config),
    scheduler,
    active,
    notice: noticesTo({ clock, log, events }),
  }
}

/** What operators read in the log they also see in the console. */
function fleetLog(log: Log, events: EventRing): FleetLog {
  return {
    event(name, fields) {
      log.event(name, fields)
      const { worker = '', ...others } = fields
      const detail = Object.entries(others).map(([key, value]) => `${key} ${value}`)
      const severity = name === 'worker.down' ? 'error' : 'info'
      events.add({ severity, event: name, object: String(worker), detail: detail.join(', ') })
    },
  }
}

/** A GPU that nobody can see is a warning of its own, but takes no worker away. */
function telemetryLog(log: Log, events: EventRing): TelemetryLog {
  return {
    event(name, fields) {
      log.event(name, fields)
      const severity = name === 'telemetry.available' ? 'info' : 'warn'
      const { source, worker, reason = '' } = fields
      const detail = reason === '' ? source : `${source}: ${reason}`
      events.add({ severity, event: name, object: worker ?? '', detail })
    },
  }
}

/** A worker from which a byte came within this time is alive whatever its probe says. */
const BYTES_FLOW_MS = 10_000

async function freeWorker(
  { fleet, clock, log }: { fleet: Fleet; clock: Clock; log: Log },
  name: string,
  model: string,
): Promise<void> {
  const worker = fleet.worker(name)
  if (worker === undefined) return
  const result = await unloadOn(clock, worker, model)
  if (!result.ok) log.event('worker.unload_failed', { worker: name, model, error: result.error })
}
