// Rates over time, for the sparklines: the gateway sends only what is now.

import type { Snapshot } from '../gateway/contract/schema/snapshot.ts'

export interface Samples {
  /** Output tokens a second, oldest first. */
  fleet: readonly number[]
  workers: ReadonlyMap<string, readonly number[]>
  /** Monotonic time of the newest sample. */
  at: number
}

export const NO_SAMPLES: Samples = {
  fleet: [],
  workers: new Map(),
  at: Number.NEGATIVE_INFINITY,
}

/** Two minutes of history. */
const KEPT = 24
const SAMPLE_EVERY_MS = 5_000

/** The same object where it is not time yet, or where nothing runs and nothing ran. */
export function takeSample(before: Samples, snapshot: Snapshot, mono: number): Samples {
  if (mono - before.at < SAMPLE_EVERY_MS) return before
  const speeds = speedByWorker(snapshot)
  const total = [...speeds.values()].reduce((sum, one) => sum + one, 0)
  const idle = total === 0 && before.fleet.every((one) => one === 0)
  if (idle && before.fleet.length > 0) return before
  const workers = new Map<string, readonly number[]>()
  for (const { name } of snapshot.workers) {
    workers.set(name, [...(before.workers.get(name) ?? []), speeds.get(name) ?? 0].slice(-KEPT))
  }
  return { fleet: [...before.fleet, total].slice(-KEPT), workers, at: mono }
}

/** What streams now: tokens a second of each worker. */
export function speedByWorker({ requests }: Snapshot): Map<string, number> {
  const speeds = new Map<string, number>()
  for (const { worker, phase, output_tokens_per_s: speed } of requests) {
    if (worker === null || phase !== 'streaming' || speed === null) continue
    speeds.set(worker, (speeds.get(worker) ?? 0) + speed)
  }
  return speeds
}
