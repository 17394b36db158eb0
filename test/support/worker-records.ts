// Records of workers that no fleet keeps, for what only reads them.

import { Worker as WorkerSchema } from '../../src/gateway/config/worker-schema.ts'
import { newRecord } from '../../src/gateway/fleet/worker-record.ts'
import type { WorkerRecord } from '../../src/gateway/fleet/worker-record.ts'
import type {
  Installed,
  InstalledModel,
  LoadedModel,
  Telemetry,
} from '../../src/gateway/fleet/worker.ts'
import { parseInventoryName } from '../../src/gateway/policy/model-name.ts'

export interface WorkerText {
  name: string
  placement?: { mode?: string; allowed_models?: string[]; denied_models?: string[] }
  /** Undefined: never read. */
  installed?: readonly Installed[]
  loaded?: readonly LoadedModel[]
  version?: string
}

let records = 0

/** A worker that is up, at monotonic time 0. */
export function aWorker({ name, placement, installed, loaded, version }: WorkerText): WorkerRecord {
  const config = WorkerSchema.parse({
    name,
    url: 'http://127.0.0.1:1',
    ...(placement === undefined ? {} : { model_placement: placement }),
  })
  const record = newRecord(config, records++, { mono: 0, wall: 0 })
  record.health = { state: 'up', sinceMono: 0 }
  record.current = 0
  record.version = version
  if (installed !== undefined) setInstalled(record, installed)
  if (loaded !== undefined) {
    const models = new Map(loaded.map((model) => [model.key, model]))
    record.loaded = { state: 'known', models, readAt: 0, error: undefined }
  }
  return record
}

export function setInstalled(record: WorkerRecord, installed: readonly Installed[]): void {
  const models = new Map(installed.map((row) => [row.model.key, row]))
  record.inventory = { state: 'known', models, readAt: 0, error: undefined }
}

export function down(record: WorkerRecord, sinceMono: number): WorkerRecord {
  record.health = { state: 'down', sinceMono, sinceWall: 0, error: 'connection refused' }
  record.current = undefined
  return record
}

export const DIGEST = '1134664ff7eb0abb6d9e842946a5c179e6d8fafcaeac5e7b62dec0499c33d220'

const DETAILS = {
  parent_model: '',
  format: 'gguf',
  family: 'llama',
  families: ['llama'],
  parameter_size: '151K',
  quantization_level: 'unknown',
}

export function installed(
  name: string,
  changes: Partial<InstalledModel> = {},
  modifiedAt = '2026-11-30T01:54:11.771636691Z',
): Installed {
  const model = {
    name,
    key: keyOf(name),
    digest: DIGEST,
    size: 620_239,
    details: { ...DETAILS, context_length: 8192, embedding_length: 64 },
    capabilities: ['completion', 'tools'],
    contextLength: 8192,
    remoteHost: undefined,
    remoteModel: undefined,
    ...changes,
  }
  return { model, modifiedAt }
}

export function loadedModel(name: string, changes: Partial<LoadedModel> = {}): LoadedModel {
  return {
    name,
    key: keyOf(name),
    digest: DIGEST,
    size: 7_958_691,
    sizeVram: 0,
    contextLength: 4096,
    expiresAt: '2026-11-30T02:01:24.057762018Z',
    details: DETAILS,
    ...changes,
  }
}

function keyOf(name: string): string {
  const parsed = parseInventoryName(name)
  if (!parsed.ok) throw new Error(`${name} is no model name`)
  return parsed.name.key
}

/** Of a machine that tells nothing. */
export const noTelemetry: Telemetry = {
  vramUsedBytes: undefined,
  vramTotalBytes: undefined,
  vramReservedBytes: undefined,
  gpuUtilization: undefined,
  temperatureC: undefined,
  powerW: undefined,
  memoryUsedBytes: undefined,
  memoryTotalBytes: undefined,
  gpus: [],
}
