// Every gauge as a row of a table: its name, what it means, and how it is read from the fleet and
// from admission at a scrape. What no longer exists leaves no series behind.

import { breakerGate } from '../policy/breaker.ts'
import type { Rates } from '../policy/throughput.ts'
import { fleetGpus } from '../policy/fleet-gpus.ts'
import type { Telemetry, Worker } from '../fleet/worker.ts'
import type { Sample } from './exposition.ts'

export interface GaugeSources {
  version: string
  workers(): readonly Worker[]
  inFlight(worker: string): number
  modelInFlight(worker: string, modelKey: string): number
  /** Model key → requests that wait for it. */
  waiting(): ReadonlyMap<string, number>
  draining(): boolean
  /** True for a model that some worker has installed; any other name is counted as `other`. */
  isInstalled(modelKey: string): boolean
  /** How the newest reload went, and when the config was last taken over, in seconds since 1970. */
  configReload(): { successful: boolean; succeededAtS: number }
  /** When a worker's telemetry was last read, in milliseconds since 1970. */
  telemetryReadAt(worker: string): number | undefined
  now(): number
  mono(): number
}

export interface GaugeRow {
  /** Behind `ollama_gateway_`. */
  name: string
  help: string
  labels: readonly string[]
  read(sources: GaugeSources): Iterable<Sample>
}

/**
 * Pairs of worker and model with learned rates that are told: the newest of each worker. With all
 * its gauges a pair costs half a kilobyte at every scrape.
 */
const MAX_PAIRS = 1_500
const MIN_PAIRS_OF_A_WORKER = 5

export const GAUGES: readonly GaugeRow[] = [
  {
    name: 'build_info',
    help: 'What runs; always 1.',
    labels: ['version', 'node'],
    read: ({ version }) => [[[version, process.version], 1]],
  },
  one('draining', '1 while the gateway is shutting down.', (all) => Number(all.draining())),
  one('config_last_reload_successful', '0 while a newer config is refused.', (all) =>
    Number(all.configReload().successful),
  ),
  one(
    'config_last_reload_success_timestamp_seconds',
    'When the config was last taken over.',
    (all) => all.configReload().succeededAtS,
  ),
  {
    name: 'queue_depth',
    help: 'Requests that wait for a slot; 0 of `other` where none waits.',
    labels: ['model'],
    read: queueDepth,
  },
  perWorker('inflight', 'Requests that hold a slot.', (all, { name }) => all.inFlight(name)),
  perWorker('slots', 'Requests that may hold a slot (`max_concurrent`).', (_, { config }) => {
    return config.max_concurrent
  }),
  perWorker('worker_up', '1 while an address of the worker answers probes.', (_, { health }) =>
    Number(health.state === 'up'),
  ),
  perWorker('worker_draining', '1 while the worker gets no new requests.', (_, { draining }) =>
    Number(draining),
  ),
  perWorker(
    'worker_circuit_state',
    'Breaker of the worker: 0 closed, 1 half open (one request tries), 2 open.',
    (all, { breaker }) => CIRCUIT[breakerGate(breaker, all.mono())],
  ),
  perWorker(
    'worker_probe_duration_seconds',
    'How long the last probe that was answered took.',
    (_, { probeMs }) => (probeMs === undefined ? undefined : probeMs / 1_000),
  ),
  {
    name: 'worker_address_info',
    help: 'The address that new requests use; always 1.',
    labels: ['worker', 'address'],
    read: ({ workers }) => workers().flatMap(addressOf),
  },
  perWorker(
    'worker_inventory_last_success_timestamp_seconds',
    'When the list of installed models was last read.',
    (all, { inventory }) => {
      if (inventory.state === 'unknown') return undefined
      return (all.now() - (all.mono() - inventory.readAt)) / 1_000
    },
  ),
  ...telemetryGauges(),
  {
    name: 'model_workers_up',
    help: 'Workers that are up and have the model; 0 where all that have it are down.',
    labels: ['model'],
    read: ({ workers }) => modelWorkersUp(workers()),
  },
  ...modelGauges(),
]

const CIRCUIT = { closed: 0, half_open: 1, open: 2 } as const

function one(
  name: string,
  help: string,
  read: (all: GaugeSources) => number | undefined,
): GaugeRow {
  return { name, help, labels: [], read: (all) => [[[], read(all)]] }
}

function perWorker(
  name: string,
  help: string,
  read: (all: GaugeSources, worker: Worker) => number | undefined,
): GaugeRow {
  return {
    name,
    help,
    labels: ['worker'],
    read: (all) => all.workers().map((worker): Sample => [[worker.name], read(all, worker)]),
  }
}

function* queueDepth({ waiting, isInstalled }: GaugeSources): Iterable<Sample> {
  let others = 0
  for (const [model, count] of waiting()) {
    if (isInstalled(model)) yield [[model], count]
    else others += count
  }
  yield [['other'], others]
}

function addressOf({ name, addresses, current }: Worker): Sample[] {
  const address = current === undefined ? undefined : addresses[current]
  return address === undefined ? [] : [[[name, address.url], 1]]
}

function telemetryGauges(): GaugeRow[] {
  const figure = (name: string, help: string, read: (of: Telemetry) => number | undefined) =>
    perWorker(name, help, (_, { telemetry }) =>
      telemetry === undefined ? undefined : read(telemetry),
    )
  return [
    figure('worker_memory_used_bytes', 'RAM in use on the worker’s machine.', (of) => {
      return of.memoryUsedBytes
    }),
    figure(
      'worker_memory_total_bytes',
      'RAM of the worker’s machine.',
      (of) => of.memoryTotalBytes,
    ),
    figure('worker_vram_used_bytes', 'GPU memory in use, over the worker’s GPUs.', (of) => {
      return of.vramUsedBytes
    }),
    figure('worker_vram_total_bytes', 'GPU memory, over the worker’s GPUs.', (of) => {
      return of.vramTotalBytes
    }),
    figure('worker_gpu_utilization_percent', 'Mean GPU utilization, 0 to 100.', (of) => {
      return of.gpuUtilization === undefined ? undefined : of.gpuUtilization * 100
    }),
    figure('worker_gpu_temperature_celsius', 'Of the hottest GPU.', (of) => of.temperatureC),
    figure('worker_gpu_power_watts', 'Power draw, over the worker’s GPUs.', (of) => of.powerW),
    perWorker(
      'telemetry_last_success_timestamp_seconds',
      'When the telemetry that the config asks for was last read.',
      (all, { name, config }) => {
        if (!config.nvidia_smi && config.telemetry_url === null) return undefined
        return (all.telemetryReadAt(name) ?? 0) / 1_000
      },
    ),
    one('fleet_vram_used_bytes', 'GPU memory in use, each GPU counted once.', (all) => {
      return fleetGpus(all.workers()).vramUsedBytes
    }),
    one('fleet_vram_total_bytes', 'GPU memory, each GPU counted once.', (all) => {
      return fleetGpus(all.workers()).vramTotalBytes
    }),
  ]
}

function* modelWorkersUp(workers: readonly Worker[]): Iterable<Sample> {
  const up = new Map<string, number>()
  for (const { inventory, health } of workers) {
    if (inventory.state === 'unknown') continue
    const more = Number(health.state === 'up')
    for (const key of inventory.models.keys()) up.set(key, (up.get(key) ?? 0) + more)
  }
  for (const [model, count] of up) yield [[model], count]
}

function modelGauges(): GaugeRow[] {
  const labels = ['worker', 'model']
  const learned = (name: string, help: string, read: (rates: Rates) => number | undefined) => ({
    name,
    help,
    labels,
    read: ({ workers }: GaugeSources) => ratesOf(workers(), read),
  })
  return [
    {
      name: 'worker_model_active',
      help: 'Requests that hold a slot, by model.',
      labels,
      read: activeModels,
    },
    learned('worker_model_prompt_tokens_per_second', 'Learned speed of reading prompts.', (of) => {
      return of.promptPerS
    }),
    learned('worker_model_output_tokens_per_second', 'Learned speed of writing.', (of) => {
      return of.outputPerS
    }),
    learned(
      'worker_model_performance_samples',
      'Requests that the speeds are learned from.',
      (of) => of.outputSamples,
    ),
  ]
}

function* activeModels({ workers, modelInFlight }: GaugeSources): Iterable<Sample> {
  const all = workers()
  const most = pairsOfAWorker(all)
  for (const worker of all) {
    const { name, loaded } = worker
    const models = new Set(newestRates(worker, most).map(([model]) => model))
    if (loaded.state === 'known') for (const key of loaded.models.keys()) models.add(key)
    for (const model of models) yield [[name, model], modelInFlight(name, model)]
  }
}

function* ratesOf(
  workers: readonly Worker[],
  read: (rates: Rates) => number | undefined,
): Iterable<Sample> {
  const most = pairsOfAWorker(workers)
  for (const worker of workers) {
    for (const [model, rates] of newestRates(worker, most)) {
      yield [[worker.name, model], read(rates)]
    }
  }
}

function pairsOfAWorker(workers: readonly Worker[]): number {
  return Math.max(MIN_PAIRS_OF_A_WORKER, Math.floor(MAX_PAIRS / Math.max(1, workers.length)))
}

interface Newest {
  rates: Worker['rates']
  models: unknown
  most: number
  list: readonly (readonly [string, Rates])[]
}

/** The fleet replaces these maps where something in them changes, and most do not change. */
const newest = new WeakMap<Worker, Newest>()

/** Of models that the worker still has: names that are gone would be series for ever. */
function newestRates(worker: Worker, most: number): Newest['list'] {
  const { rates, inventory } = worker
  const models = inventory.state === 'unknown' ? undefined : inventory.models
  const known = newest.get(worker)
  if (known?.rates === rates && known.models === models && known.most === most) return known.list
  const present = [...rates].filter(([model]) => models?.has(model) ?? true)
  const list =
    present.length <= most
      ? present
      : present.toSorted(([, a], [, b]) => b.updatedAt - a.updatedAt).slice(0, most)
  newest.set(worker, { rates, models, most, list })
  return list
}
