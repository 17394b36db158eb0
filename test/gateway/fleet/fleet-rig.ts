// The fleet's room by itself, in front of workers on real sockets, with short intervals.

import { systemClock, type Clock } from '../../../src/gateway/clock.ts'
import { Config, type WorkerConfig } from '../../../src/gateway/config/schema.ts'
import { Fleet } from '../../../src/gateway/fleet/fleet.ts'
import type { FleetLogName } from '../../../src/gateway/fleet/fleet-event.ts'
import { InventoryReader } from '../../../src/gateway/fleet/inventory.ts'
import { ModelInfos } from '../../../src/gateway/fleet/model-info.ts'
import { Pools } from '../../../src/gateway/fleet/pools.ts'
import { Prober } from '../../../src/gateway/fleet/prober.ts'
import { systemResolve, type Resolve } from '../../../src/gateway/fleet/worker-api.ts'
import type { Worker } from '../../../src/gateway/fleet/worker.ts'

export interface RigOptions {
  /** Milliseconds; the config's own least is a second, a test's is not. Default 40. */
  interval?: number
  /** Milliseconds, for tags and ps alike. Default 60. */
  inventoryInterval?: number
  resolve?: Resolve
  clock?: Clock
}

export interface FleetRig extends AsyncDisposable {
  fleet: Fleet
  prober: Prober
  inventory: InventoryReader
  infos: ModelInfos
  pools: Pools
  config: Config
  /** Names of the events that operators were told, with the worker and the address. */
  told: { name: FleetLogName; fields: Readonly<Record<string, string | number>> }[]
  /** Workers that bytes flow from. */
  flowing: Set<string>
  worker(name?: string): Worker
}

/** One worker as the config file has it. */
export interface WrittenWorker {
  name: string
  urls: string[]
  probe?: Record<string, unknown>
  headers?: Record<string, string>
  max_concurrent?: number
  tls?: object
}

export function parseConfig(workers: readonly WrittenWorker[], options: RigOptions = {}): Config {
  const config = Config.parse({ workers })
  const { interval = 40, inventoryInterval = 60 } = options
  return {
    ...config,
    inventory: { tags_interval: inventoryInterval, ps_interval: inventoryInterval },
    workers: config.workers.map((worker) => withInterval(worker, interval)),
  }
}

function withInterval(worker: WorkerConfig, interval: number): WorkerConfig {
  if (worker.probe.interval === 'off') return worker
  return { ...worker, probe: { ...worker.probe, interval } }
}

export function startFleetRig(
  workers: readonly WrittenWorker[],
  options: RigOptions = {},
): FleetRig {
  const { resolve = systemResolve, clock = systemClock } = options
  const config = parseConfig(workers, options)
  const told: FleetRig['told'] = []
  const flowing = new Set<string>()
  const settings = () => config
  const log = {
    event: (name: FleetLogName, fields: object) => void told.push({ name, fields: { ...fields } }),
  }
  const bytesFlowing = (name: string) => flowing.has(name)
  const fleet = new Fleet({ clock, log, settings, bytesFlowing }, config.workers)
  const deps = { fleet, clock, settings, resolve }
  const pools = new Pools(fleet, settings)
  const infos = new ModelInfos(deps)
  const inventory = new InventoryReader(deps)
  const prober = new Prober(deps)
  inventory.start()
  prober.start()
  return {
    fleet,
    prober,
    inventory,
    infos,
    pools,
    config,
    told,
    flowing,
    worker(name = workers[0]?.name ?? '') {
      const worker = fleet.worker(name)
      if (worker === undefined) throw new Error(`no worker ${name}`)
      return worker
    },
    async [Symbol.asyncDispose]() {
      infos.stop()
      await prober.stop()
      await inventory.stop()
      await pools.destroy()
    },
  }
}
