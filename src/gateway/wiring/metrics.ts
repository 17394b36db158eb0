// What the metrics read at a scrape is given by the parts.

import type { ConfigReload } from '../config/reload.ts'
import { installedOn } from '../fleet/worker.ts'
import { createMetrics } from '../observe/metrics.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { GatewayParts } from './parts.ts'

interface Process {
  version: string
  reload: ConfigReload
  draining(): boolean
}

export function makeMetrics(
  { fleet, scheduler, telemetry, clock }: GatewayParts,
  { version, reload, draining }: Process,
): Metrics {
  return createMetrics({
    version,
    workers: () => fleet.workers(),
    inFlight: (worker) => scheduler.inFlight(worker),
    modelInFlight: (worker, model) => scheduler.modelInFlight(worker, model),
    waiting: () => scheduler.waitingByModel(),
    draining,
    isInstalled: (key) => fleet.workers().some((worker) => installedOn(worker, key) !== undefined),
    telemetryReadAt: (worker) => telemetry.succeededAt(worker),
    now: () => clock.now(),
    mono: () => clock.mono(),
    configReload: () => ({
      successful: reload.error === undefined,
      succeededAtS: reload.loadedAt / 1000,
    }),
  })
}
