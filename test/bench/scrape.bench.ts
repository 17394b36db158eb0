// One scrape of /metrics with a large fleet: it runs on the thread that carries the streams.

import { createMetrics } from '../../src/gateway/observe/metrics.ts'
import { combine, noReading } from '../../src/gateway/fleet/telemetry/combine.ts'
import { noRates } from '../../src/gateway/policy/throughput.ts'
import { aRecord } from '../support/request-records.ts'
import { aWorker, installed, loadedModel } from '../support/worker-records.ts'
import type { BenchRow } from './bench.ts'
import { median } from './rig/rounds.ts'

const WORKERS = 200
const MODELS = 500
const LOADED = 4
const SCRAPES = 50

export async function run(): Promise<BenchRow[]> {
  const names = Array.from({ length: MODELS }, (_, index) => `model-${index}:8b`)
  const present = names.map((name) => installed(name))
  const rates = new Map(names.map((name) => [name, { ...noRates, outputPerS: 42.123 }]))
  const workers = Array.from({ length: WORKERS }, (_, index) => {
    const loaded = names.slice(index, index + LOADED).map((name) => loadedModel(name))
    const worker = aWorker({ name: `node-${index}`, installed: present, loaded })
    worker.rates = rates
    worker.telemetry = combine({ gpus: [], memory: { usedBytes: 1, totalBytes: 2 } }, noReading)
    return worker
  })
  const metrics = createMetrics({
    version: '0',
    workers: () => workers,
    inFlight: () => 1,
    modelInFlight: () => 1,
    waiting: () => new Map(),
    draining: () => false,
    isInstalled: () => true,
    configReload: () => ({ successful: true, succeededAtS: 0 }),
    telemetryReadAt: () => 0,
    now: () => 0,
    mono: () => 0,
  })
  for (const model of names) metrics.book(aRecord('r', model))
  const times: number[] = []
  let bytes = 0
  for (let index = 0; index < SCRAPES; index += 1) {
    const started = performance.now()
    bytes = (await metrics.render()).length
    times.push(performance.now() - started)
  }
  const note = `${WORKERS} workers × ${MODELS} models, bound 20`
  return [
    { name: 'one scrape', value: median(times), unit: 'ms', note },
    { name: 'its text', value: bytes / 1024, unit: 'KiB', note: 'bound 1000' },
  ]
}
