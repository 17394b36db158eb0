// The whole of config.json: every key, its default, its unit and what it does.
//
// Keys are snake_case as in the file. A duration is a string in the file and a number of
// milliseconds once parsed. `docs/config.md` and `ogw config schema` are made from this.

import { z } from 'zod'
import { readListenAddress } from './address.ts'
import { bytes, count, Duration, duration, FilePath, ModelName } from './fields.ts'
import { Admission, Auth, Capabilities, Fallback } from './policy-schema.ts'
import { Routing, Tenant, Upstream } from './policy-schema.ts'
import { PlacementPolicy as Placement, Worker } from './worker-schema.ts'

const Listen = z.string().refine((text) => readListenAddress(text) !== undefined, {
  error: 'write host and port, as in "127.0.0.1:11435" or "[::1]:11435"',
})

const Admin = z.strictObject({
  socket: FilePath.nullable().default(null).meta({
    description: 'Path of the admin socket; null: `admin.sock` in the runtime folder.',
  }),
  mode: z
    .string()
    .regex(/^0[67][0-7]{2}$/, 'write octal rights that the owner can use, as in "0660"')
    .default('0660')
    .meta({
      unit: 'octal',
      description: 'Rights of the socket. Whoever may write to it may operate the gateway.',
    }),
})

const Log = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').meta({
    description: 'The least important lines that are still written.',
  }),
})

const Inventory = z.strictObject({
  tags_interval: duration('1s', '24h').prefault('30s').meta({
    unit: 'duration',
    description: 'Pause between two readings of what a worker has installed.',
  }),
  ps_interval: duration('1s', '1h').prefault('5s').meta({
    unit: 'duration',
    description: 'Pause between two readings of what a worker has loaded.',
  }),
})

const KeepAliveTime = z
  .union([z.literal('-1').transform(() => -1), Duration])
  .nullable()
  .prefault(null)

const KeepAlive = z.strictObject({
  max: KeepAliveTime.meta({
    unit: 'duration',
    description: 'Longest `keep_alive` that a client may ask for; null: no bound, "-1": for ever.',
  }),
  override: KeepAliveTime.meta({
    unit: 'duration',
    description: 'Replaces every `keep_alive` that a client sends; null: it stays, "-1": for ever.',
  }),
})

const NumCtx = z.strictObject({
  policy: z.enum(['client', 'snap', 'clamp']).default('client').meta({
    description:
      'A native `num_ctx`: `client` passes it, `snap` takes the loaded size, `clamp` lowers it to what is allowed.',
  }),
})

const Cors = z.strictObject({
  origins: z
    .array(
      z
        .string()
        .max(300)
        .regex(/^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+)$/i, 'not an origin'),
    )
    .max(1000)
    .default([])
    .meta({
      description: 'Web origins that may call the gateway, added to Ollama’s own defaults.',
    }),
})

const stateFile = (name: string, holds: string) =>
  FilePath.default(name).meta({ description: `${holds} Relative to \`storage.dir\`.` })

const Storage = z.strictObject({
  dir: FilePath.nullable().default(null).meta({
    description:
      'Folder of all state; null: `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/ogw` (`~/.local/state/ogw`), as root `/var/lib/ogw`.',
  }),
  model_placement_file: stateFile('model-placement.json', 'Placement overrides of operators.'),
  placement_history_file: stateFile('placement-history.jsonl', 'Every placement edit.'),
  worker_performance_file: stateFile('worker-performance.json', 'Learned token rates.'),
  workers_file: stateFile('workers.json', 'Which workers are draining.'),
  keys_file: stateFile('keys.json', 'Keys, hashed.'),
  tenants_file: stateFile('tenants.json', 'Tenant settings that operators changed.'),
  credits_file: stateFile('credits.json', 'Credits spent in the current windows.'),
  usage_file: stateFile('usage.jsonl', 'Tokens by tenant, actor and model, for 90 days.'),
})

const Audit = z.strictObject({
  file: FilePath.nullable().default('audit.jsonl').meta({
    description: 'Where every change is noted, relative to `storage.dir`; null: nowhere.',
  }),
  requests: z.boolean().default(false).meta({
    description: 'Adds one line of metadata per request, never prompts or answers.',
  }),
  max_bytes: bytes(65_536).default(16_777_216).meta({
    unit: 'bytes',
    description: 'Size at which the file is rotated.',
  }),
  keep: count(1, 1000).default(5).meta({
    unit: 'files',
    description: 'Rotated files that are kept.',
  }),
})

const Otel = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null)
    .meta({
      unit: 'url',
      description: 'OTLP endpoint that spans are sent to; null: no tracing.',
    }),
})

export const Config = z.strictObject({
  listen: Listen.default('127.0.0.1:11435').meta({
    unit: 'host:port',
    description:
      'Where clients connect. An address that others can reach is refused without keys, unless `auth.mode` is `open`.',
  }),
  ops_listen: Listen.nullable().default('127.0.0.1:11436').meta({
    unit: 'host:port',
    description: 'Where /metrics, /livez and /readyz are, until the process exits; null: nowhere.',
  }),
  admin: Admin.prefault({}).meta({ description: 'The socket that operators use.' }),
  log: Log.prefault({}).meta({ description: 'The gateway’s own log, on stderr.' }),
  drain_timeout: duration('0s', '24h').prefault('5m').meta({
    unit: 'duration',
    description:
      'How long a stop waits for running requests before it ends them. A supervisor has to wait longer than that before it kills: for systemd, TimeoutStopSec.',
  }),
  workers: z
    .array(Worker)
    .min(1, 'a gateway needs at least one worker')
    .max(1000)
    .prefault([{ name: 'ollama', url: 'http://127.0.0.1:11434' }])
    .meta({
      description:
        'The fleet, in order of preference where nothing else decides. Left out: one worker at `OLLAMA_HOST`.',
    }),
  inventory: Inventory.prefault({}).meta({
    description: 'How often workers are asked for models.',
  }),
  routing: Routing.prefault({}).meta({
    description: 'Weights with which an eligible worker is chosen. None overturns a hard rule.',
  }),
  model_capabilities: Capabilities.prefault({}).meta({
    description: 'What is checked before a request is admitted.',
  }),
  admission: Admission.prefault({}).meta({ description: 'Who waits, how long, and how much.' }),
  upstream: Upstream.prefault({}).meta({ description: 'Patience with workers.' }),
  aliases: z.record(ModelName, ModelName).default({}).meta({
    description: 'Names that clients use for models that are called otherwise.',
  }),
  fallbacks: z.array(Fallback).max(1000).default([]).meta({
    description: 'Explicit replacements. Without one, what cannot run is refused.',
  }),
  auth: Auth.prefault({}).meta({ description: 'Who may ask.' }),
  tenants: z.array(Tenant).max(10_000).default([]).meta({
    description: 'Owners of keys. `default` exists without being written.',
  }),
  keep_alive: KeepAlive.prefault({}).meta({
    description: 'What clients may ask of loaded models.',
  }),
  num_ctx: NumCtx.prefault({}).meta({ description: 'What becomes of a native `num_ctx`.' }),
  cors: Cors.prefault({}).meta({ description: 'Which web pages may call the gateway.' }),
  storage: Storage.prefault({}).meta({ description: 'Where state is kept.' }),
  audit: Audit.prefault({}).meta({ description: 'The record of who changed what.' }),
  otel: Otel.prefault({}).meta({ description: 'OpenTelemetry tracing.' }),
})

export type Config = z.infer<typeof Config>
export type WorkerConfig = z.infer<typeof Worker>
export type PlacementPolicy = z.infer<typeof Placement>
export type TlsConfig = WorkerConfig['tls']
export type RoutingConfig = z.infer<typeof Routing>
export type CapabilitiesConfig = z.infer<typeof Capabilities>
export type FallbackConfig = z.infer<typeof Fallback>
export type AuthConfig = z.infer<typeof Auth>
export type NumCtxConfig = z.infer<typeof NumCtx>
export type StorageConfig = z.infer<typeof Storage>
