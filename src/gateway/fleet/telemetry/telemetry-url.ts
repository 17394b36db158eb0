// Reads one `telemetry_url`: Prometheus text of an exporter, or JSON of another ogw.

import type { Clock } from '../../clock.ts'
import type { WorkerConfig } from '../../config/schema.ts'
import { callWorker } from '../worker-api.ts'
import type { Reading } from './combine.ts'
import { readExporterPage } from './exporters.ts'
import { readOgwJson } from './ogw-json.ts'

export type UrlReading = { ok: true; reading: Reading } | { ok: false; error: string }

const TIMEOUT_MS = 2_000
const MAX_BYTES = 4 * 1024 * 1024
const ACCEPT = 'text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.5'

export async function readTelemetryUrl(
  clock: Clock,
  config: WorkerConfig,
  signal: AbortSignal,
): Promise<UrlReading> {
  const url = new URL(withScheme(config.telemetry_url ?? ''))
  // The worker's own headers may be a secret of the worker: an exporter gets what its URL says.
  const target = { url: url.origin, ips: undefined, config: { ...config, headers: headersOf(url) } }
  const answer = await callWorker(clock, target, {
    method: 'GET',
    path: url.pathname,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    signal,
  })
  if (!answer.ok) return answer
  if (answer.status !== 200) return { ok: false, error: `answered ${answer.status}` }
  const reading = readPage(answer.body.toString('utf8'))
  if (reading === undefined) return { ok: false, error: 'the page has no figures that ogw knows' }
  return { ok: true, reading: named(reading, url.host) }
}

function readPage(text: string): Reading | undefined {
  if (text.trimStart().startsWith('{')) return readOgwJson(parsed(text))
  const reading = readExporterPage(text)
  return reading.gpus.length === 0 && reading.memory === undefined ? undefined : reading
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a cut answer: the schema says that it does not fit
  }
}

/** Two machines may both have a GPU 0; a uuid is one GPU wherever it is read. */
function named({ gpus, memory }: Reading, host: string): Reading {
  const named = gpus.map((gpu) =>
    gpu.id.startsWith('GPU-') ? gpu : { ...gpu, id: `${host} ${gpu.id}` },
  )
  return { gpus: named, memory }
}

function headersOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return { accept: ACCEPT }
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  return { accept: ACCEPT, authorization }
}

function withScheme(text: string): string {
  return text.includes('://') ? text : `http://${text}`
}
