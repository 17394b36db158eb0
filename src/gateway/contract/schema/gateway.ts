// The gateway itself over the admin socket: status, config, state files, events, audit.

import { z } from 'zod'
import { changeOf, Nothing, queryInt, WallTime } from './common.ts'

export const ConfigState = z.object({
  /** Null when the gateway runs without a config file. */
  path: z.string().nullable(),
  loaded_at: WallTime,
  /** Why the newest reload was refused; what ran before still runs. Null after a good one. */
  reload_error: z.string().nullable(),
  /** Keys that changed in the file and need a restart. */
  restart_needed: z.array(z.string()),
})

export const GatewaySection = z.object({
  version: z.string(),
  pid: z.int(),
  host: z.string(),
  started_at: WallTime,
  started_mono: z.number(),
  listen: z.string(),
  ops_listen: z.string().nullable(),
  socket: z.string(),
  draining: z.boolean(),
  /** Of the workers document, for if_revision of drain and resume. */
  workers_revision: z.int(),
  config: ConfigState,
  queue: z.object({ waiting: z.int(), limit: z.int() }),
  slots: z.object({ used: z.int(), limit: z.int() }),
  /** What an operator should know and do something about, one sentence each. */
  problems: z.array(z.string()),
})
export type GatewaySection = z.infer<typeof GatewaySection>

/** Over the last minute; null where nothing was measured. */
export const Traffic = z.object({
  requests_per_s: z.number().nullable(),
  output_tokens_per_s: z.number().nullable(),
  /** 0 to 1. */
  error_ratio: z.number().nullable(),
})
export type Traffic = z.infer<typeof Traffic>

export const EventRow = z.object({
  /** Grows by one with each event of this process. */
  seq: z.int(),
  at: WallTime,
  severity: z.enum(['info', 'warn', 'error']),
  /** As in `worker.down`, `placement.deny`, `config.reload`. */
  event: z.string(),
  /** What it is about: a worker, a model, a file. */
  object: z.string(),
  detail: z.string(),
  /** Null = the gateway itself. */
  actor: z.string().nullable(),
  /** Placement revision that it made, null for most. */
  revision: z.int().nullable(),
})
export type EventRow = z.infer<typeof EventRow>

export const AuditEntry = z.object({
  at: WallTime,
  /** What the client says it is; the socket cannot verify it. */
  actor: z.string(),
  verified: z.boolean(),
  operation: z.string(),
  input: z.unknown(),
  outcome: z.enum(['changed', 'unchanged', 'refused']),
  before: z.unknown(),
  after: z.unknown(),
  message: z.string(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

export const Drift = z.object({
  path: z.string().nullable(),
  state: z.enum(['same', 'differs', 'unreadable', 'no_file']),
  /** Top-level keys that differ; empty unless `differs`. */
  keys: z.array(z.string()),
  /** Every problem of a file that is not valid. */
  problems: z.array(z.string()),
})
export type Drift = z.infer<typeof Drift>

export const Reload = z.object({
  changed: z.boolean(),
  /** Top-level keys that now run with new values. */
  keys: z.array(z.string()),
  restart_needed: z.array(z.string()),
  warnings: z.array(z.string()),
})
export type Reload = z.infer<typeof Reload>

export const StateFile = z.object({
  /** The key under `storage`, as in `keys_file`; `before_restore` for what a restore kept. */
  name: z.string(),
  path: z.string(),
  exists: z.boolean(),
  size_bytes: z.number().nullable(),
  modified_at: WallTime.nullable(),
  holds: z.string(),
  /** Why the last write failed, or which lines cannot be read; null when all is well. */
  error: z.string().nullable(),
})
export type StateFile = z.infer<typeof StateFile>

export const Flushed = z.object({
  /** Of the machine that the files are on. */
  host: z.string(),
  /** Null where the config is no file. */
  config_file: z.string().nullable(),
  dir: z.string(),
  files: z.array(StateFile),
})
export type Flushed = z.infer<typeof Flushed>

export const Status = GatewaySection.extend({
  uptime_s: z.number(),
  revision: z.int(),
  drift: Drift,
  workers: z.object({ total: z.int(), up: z.int(), down: z.int(), draining: z.int() }),
  models: z.int(),
  /** Each GPU counts once, however many workers use it. */
  gpus: z.object({
    count: z.int(),
    vram_used_bytes: z.number().nullable(),
    vram_total_bytes: z.number().nullable(),
    power_w: z.number().nullable(),
    /** Of the hottest. */
    temperature_c: z.number().nullable(),
  }),
  traffic: Traffic,
})
export type Status = z.infer<typeof Status>

const Newest = z.strictObject({ limit: queryInt(1, 1000).optional() })

export const gatewayShapes = {
  status: { input: Nothing, output: Status },
  health: {
    input: Nothing,
    output: z.object({ healthy: z.boolean(), problems: z.array(z.string()) }),
  },
  names: {
    input: Nothing,
    output: z.object({ workers: z.array(z.string()), models: z.array(z.string()) }),
  },
  'config.show': {
    input: Nothing,
    output: z.object({ path: z.string().nullable(), config: z.record(z.string(), z.unknown()) }),
  },
  'config.drift': { input: Nothing, output: Drift },
  'config.reload': { input: changeOf({}), output: Reload },
  'storage.list': { input: Nothing, output: z.array(StateFile) },
  'storage.flush': { input: Nothing, output: Flushed },
  events: { input: Newest, output: z.array(EventRow) },
  'events.follow': { input: Newest, output: EventRow },
  'audit.list': { input: Newest, output: z.array(AuditEntry) },
}
