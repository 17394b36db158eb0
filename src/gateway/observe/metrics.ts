// Prometheus metrics. The only file that knows prom-client.
//
// Counters and histograms are fed when a request ends; gauges are read from the fleet and from
// admission when they are scraped. Labels are worker, model, dialect and outcome, never tenant,
// user or request: each series costs memory for ever and time at every scrape.

import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import { gaugeText } from './exposition.ts'
import { GAUGES } from './gauges.ts'
import type { GaugeSources } from './gauges.ts'
import type { RequestSink } from './observer.ts'
import type { RequestRecord } from './request-record.ts'

export type MetricsDeps = GaugeSources

export interface FamilyText {
  name: string
  type: string
  help: string
  labels: readonly string[]
}

export interface Metrics {
  book: RequestSink
  contentType: string
  /** The text of one scrape. */
  render(): Promise<string>
  /** The gateway's own families, for its reference page. */
  families(): FamilyText[]
}

const PREFIX = 'ollama_gateway_'

/** A histogram has one series per bucket and label set; these keep all of them together below 300. */
const DURATION_S = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900]
const FIRST_BYTE_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320]
const PER_TOKEN_S = [0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1]
const QUEUE_S = [0.01, 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300]
const LOAD_S = [0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320]

/** Event loop lag is sampled so often, in milliseconds. */
const LAG_PRECISION_MS = 50
/** Names of models that counters ever tell apart: installed ones come and go over the months. */
const MAX_MODELS = 1_000

export function createMetrics(deps: MetricsDeps): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS })
  const own = new Registry()
  const counters = requestCounters(own, deps)
  const histograms = requestHistograms(own)
  return {
    book(record) {
      counters(record)
      histograms(record)
    },
    contentType: registry.contentType,
    render: async () => `${await registry.metrics()}${await own.metrics()}${gaugesText(deps)}`,
    families: () => [
      ...own.getMetricsAsArray().map(familyOf),
      ...GAUGES.map(({ name, help, labels }) => {
        return { name: `${PREFIX}${name}`, type: 'gauge', help, labels }
      }),
    ],
  }
}

function gaugesText(deps: MetricsDeps): string {
  return GAUGES.map(({ name, help, labels, read }) =>
    gaugeText({ name: `${PREFIX}${name}`, help, labels, samples: read(deps) }),
  ).join('')
}

function familyOf(metric: object): FamilyText {
  const { name, help } = metric as { name: string; help: string } // prom-client hides its fields
  const labels = 'labelNames' in metric ? (metric.labelNames as string[]) : []
  return { name, help, labels, type: metric instanceof Histogram ? 'histogram' : 'counter' }
}

function requestCounters(registry: Registry, deps: MetricsDeps): RequestSink {
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers: [registry] })
  const requests = counter(
    'requests_total',
    'Inference requests that are over, by how they ended.',
    ['dialect', 'model', 'outcome', 'status'],
  )
  const tokens = counter(
    'tokens_total',
    'Tokens read (type `input`) and written (type `output`) by models.',
    ['type', 'model'],
  )
  const retries = counter(
    'retries_total',
    'Attempts after the first one of a request, by what ended the one before.',
    ['reason'],
  )
  const denied = counter(
    'placement_denied_total',
    'Requests that were refused because placement blocks their model everywhere.',
    ['model'],
  )
  const faults = counter('faults_total', 'Requests that ended in a fault, by its code.', ['code'])
  const notices = counter(
    'notices_total',
    'Requests that operators were told something about, by event: `model.reload`, `prompt.truncated`, `model.fallback`, `preflight.warned`.',
    ['event', 'model', 'worker'],
  )
  const known = new Set<string>()

  return (record) => {
    const { dialect, outcome, status, code } = record
    const model = labelOf(record.model)
    requests.inc({ dialect, model, outcome, status: status ?? 'none' })
    if (record.promptTokens > 0) tokens.inc({ type: 'input', model }, record.promptTokens)
    if (record.outputTokens > 0) tokens.inc({ type: 'output', model }, record.outputTokens)
    for (const reason of record.retryReasons) retries.inc({ reason })
    for (const event of record.notices) notices.inc({ event, model, worker: record.worker ?? '' })
    if (code === 'model_blocked') denied.inc({ model })
    if (code !== undefined) faults.inc({ code })
  }

  function labelOf(model: string): string {
    if (known.has(model)) return model
    if (known.size >= MAX_MODELS || !deps.isInstalled(model)) return 'other'
    known.add(model)
    return model
  }
}

function requestHistograms(registry: Registry): (record: RequestRecord) => void {
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    new Histogram({ name: `${PREFIX}${name}`, help, buckets, labelNames, registers: [registry] })
  const duration = histogram(
    'request_duration_seconds',
    'From the head of a request to the last byte of its answer.',
    DURATION_S,
    ['dialect'],
  )
  const firstByte = histogram(
    'time_to_first_token_seconds',
    'From the grant of a slot to the first byte of the answer.',
    FIRST_BYTE_S,
    ['dialect'],
  )
  const perToken = histogram(
    'time_per_output_token_seconds',
    'Time of writing divided by the tokens written, of whole answers.',
    PER_TOKEN_S,
  )
  const queueWait = histogram(
    'queue_wait_seconds',
    'Time that requests waited for a slot.',
    QUEUE_S,
  )
  const load = histogram(
    'model_load_seconds',
    'Time that workers say they spent loading a model, where it was more than 0.1 s.',
    LOAD_S,
  )
  return ({ dialect, durationMs, ttfbMs, queueMs, outputMs, loadMs, outputTokens }) => {
    duration.observe({ dialect }, durationMs / 1000)
    queueWait.observe(queueMs / 1000)
    if (ttfbMs !== undefined) firstByte.observe({ dialect }, ttfbMs / 1000)
    if (outputMs !== undefined && outputTokens > 0) perToken.observe(outputMs / 1000 / outputTokens)
    if (loadMs !== undefined && loadMs > MIN_LOAD_MS) load.observe(loadMs / 1000)
  }
}

/** A model that is loaded already costs Ollama some milliseconds too. */
const MIN_LOAD_MS = 100
