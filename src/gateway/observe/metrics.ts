// Prometheus metrics. The only file that knows prom-client.
//
// Counters and histograms are fed when a request ends; gauges are read from the fleet and from
// admission when they are scraped. Labels are worker, model, dialect and outcome, never tenant,
// user or request: each series costs memory for ever and time at every scrape.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Worker } from '../fleet/worker.ts'
import type { Rates } from '../policy/throughput.ts'
import type { RequestSink } from './observer.ts'
import type { RequestRecord } from './request-record.ts'

export interface MetricsDeps {
  version: string
  workers(): readonly Worker[]
  inFlight(worker: string): number
  modelInFlight(worker: string, modelKey: string): number
  waitingCount(): number
  draining(): boolean
  /** True for a model that some worker has installed; any other name is counted as `other`. */
  isInstalled(modelKey: string): boolean
  /** How the newest reload went, and when the config was last taken over, in seconds since 1970. */
  configReload(): { successful: boolean; succeededAtS: number }
}

export interface Metrics {
  book: RequestSink
  contentType: string
  /** The text of one scrape. */
  render(): Promise<string>
}

/** A histogram has one series per bucket and label set; these keep all of them together below 300. */
const DURATION_S = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900]
const FIRST_BYTE_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320]
const QUEUE_S = [0.01, 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300]

/** Event loop lag is sampled so often, in milliseconds. */
const LAG_PRECISION_MS = 50

export function createMetrics(deps: MetricsDeps): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS })
  gatewayGauges(registry, deps)
  workerGauges(registry, deps)
  return {
    book: requestMetrics(registry, deps),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  }
}

function requestMetrics(registry: Registry, deps: MetricsDeps): RequestSink {
  const registers = [registry]
  const requests = new Counter({
    name: 'ollama_gateway_requests_total',
    help: 'Inference requests that are over, by how they ended.',
    labelNames: ['dialect', 'model', 'outcome', 'status'],
    registers,
  })
  const tokens = new Counter({
    name: 'ollama_gateway_tokens_total',
    help: 'Tokens read (input) and written (output) by models.',
    labelNames: ['type', 'model'],
    registers,
  })
  const retries = new Counter({
    name: 'ollama_gateway_retries_total',
    help: 'Attempts after the first one of a request.',
    labelNames: ['dialect'],
    registers,
  })
  const histograms = requestHistograms(registry)

  return (record) => {
    const { dialect, outcome, status, attempts } = record
    const model = deps.isInstalled(record.model) ? record.model : 'other'
    requests.inc({ dialect, model, outcome, status: status ?? 'none' })
    if (record.promptTokens > 0) tokens.inc({ type: 'input', model }, record.promptTokens)
    if (record.outputTokens > 0) tokens.inc({ type: 'output', model }, record.outputTokens)
    if (attempts > 1) retries.inc({ dialect }, attempts - 1)
    histograms(record)
  }
}

function requestHistograms(registry: Registry): (record: RequestRecord) => void {
  const common = { labelNames: ['dialect'], registers: [registry] }
  const duration = new Histogram({
    ...common,
    name: 'ollama_gateway_request_duration_seconds',
    help: 'From the head of a request to the last byte of its answer.',
    buckets: DURATION_S,
  })
  const firstByte = new Histogram({
    ...common,
    name: 'ollama_gateway_time_to_first_token_seconds',
    help: 'From the grant of a slot to the first byte of the answer.',
    buckets: FIRST_BYTE_S,
  })
  const queueWait = new Histogram({
    ...common,
    labelNames: [],
    name: 'ollama_gateway_queue_wait_seconds',
    help: 'Time that requests waited for a slot.',
    buckets: QUEUE_S,
  })
  return ({ dialect, durationMs, ttfbMs, queueMs }) => {
    duration.observe({ dialect }, durationMs / 1000)
    queueWait.observe(queueMs / 1000)
    if (ttfbMs !== undefined) firstByte.observe({ dialect }, ttfbMs / 1000)
  }
}

/** One value of a gauge, read at a scrape. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | undefined]

interface GaugeText {
  name: string
  help: string
  labelNames?: readonly string[]
}

/** A gauge that is empty until it is scraped; what no longer exists leaves no series behind. */
function gauge(registry: Registry, text: GaugeText, read: () => Iterable<Sample>): void {
  const { name, help, labelNames = [] } = text
  const made = new Gauge({
    name: `ollama_gateway_${name}`,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      made.reset()
      for (const [labels, value] of read()) if (value !== undefined) made.set(labels, value)
    },
  })
}

function gatewayGauges(registry: Registry, deps: MetricsDeps): void {
  const one = (name: string, help: string, read: () => number): void =>
    gauge(registry, { name, help }, () => [[{}, read()]])

  const build = { version: deps.version, node: process.version }
  const labelNames = Object.keys(build)
  gauge(registry, { name: 'build_info', help: 'What runs; always 1.', labelNames }, () => [
    [build, 1],
  ])
  one('queue_depth', 'Requests that wait for a slot.', () => deps.waitingCount())
  one('draining', '1 while the gateway is shutting down.', () => Number(deps.draining()))
  one('config_last_reload_successful', '0 while a newer config is refused.', () => {
    return Number(deps.configReload().successful)
  })
  one(
    'config_last_reload_success_timestamp_seconds',
    'When the config was last taken over.',
    () => {
      return deps.configReload().succeededAtS
    },
  )
}

function workerGauges(registry: Registry, deps: MetricsDeps): void {
  const perWorker = (
    name: string,
    help: string,
    read: (worker: Worker) => number | undefined,
  ): void =>
    gauge(registry, { name, help, labelNames: ['worker'] }, () =>
      deps.workers().map((worker): Sample => [{ worker: worker.name }, read(worker)]),
    )

  perWorker('inflight', 'Requests that hold a slot.', ({ name }) => deps.inFlight(name))
  perWorker('worker_up', '1 while an address of the worker answers probes.', ({ health }) =>
    Number(health.state === 'up'),
  )
  perWorker('worker_draining', '1 while the worker gets no new requests.', ({ draining }) =>
    Number(draining),
  )
  perWorker(
    'worker_breaker_open',
    '1 while connections to the worker keep failing.',
    ({ breaker }) => Number(breaker.phase === 'open'),
  )
  perWorker(
    'worker_vram_used_bytes',
    'GPU memory in use.',
    ({ telemetry }) => telemetry?.vramUsedBytes,
  )
  perWorker('worker_vram_total_bytes', 'GPU memory.', ({ telemetry }) => telemetry?.vramTotalBytes)
  perWorker('worker_gpu_utilization_percent', 'GPU utilization, 0 to 100.', ({ telemetry }) => {
    const { gpuUtilization } = telemetry ?? {}
    return gpuUtilization === undefined ? undefined : gpuUtilization * 100
  })
  gauge(
    registry,
    {
      name: 'worker_address_info',
      help: 'The address that new requests use; always 1.',
      labelNames: ['worker', 'address'],
    },
    () => deps.workers().flatMap(addressOf),
  )
  modelGauges(registry, deps)
}

function addressOf({ name, addresses, current }: Worker): Sample[] {
  const address = current === undefined ? undefined : addresses[current]
  return address === undefined ? [] : [[{ worker: name, address: address.url }, 1]]
}

function modelGauges(registry: Registry, deps: MetricsDeps): void {
  const perModel = (name: string, help: string, read: (worker: Worker) => Iterable<Sample>): void =>
    gauge(registry, { name, help, labelNames: ['worker', 'model'] }, () =>
      deps.workers().flatMap((worker) => [...read(worker)]),
    )

  perModel('worker_model_active', 'Requests that hold a slot, by model.', (worker) => {
    const { name, loaded, rates } = worker
    const models = new Set(rates.keys())
    if (loaded.state === 'known') for (const key of loaded.models.keys()) models.add(key)
    return [...models].map((model): Sample => {
      return [{ worker: name, model }, deps.modelInFlight(name, model)]
    })
  })
  perModel('worker_model_prompt_tokens_per_second', 'Learned speed of reading prompts.', (worker) =>
    ratesOf(worker, ({ promptPerS }) => promptPerS),
  )
  perModel('worker_model_output_tokens_per_second', 'Learned speed of writing.', (worker) =>
    ratesOf(worker, ({ outputPerS }) => outputPerS),
  )
  perModel(
    'worker_model_performance_samples',
    'Requests that the speeds are learned from.',
    (worker) => ratesOf(worker, ({ outputSamples }) => outputSamples),
  )
}

function* ratesOf(worker: Worker, read: (rates: Rates) => number | undefined): Iterable<Sample> {
  for (const [model, rates] of worker.rates) yield [{ worker: worker.name, model }, read(rates)]
}
