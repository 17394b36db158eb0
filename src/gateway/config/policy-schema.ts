// The config sections that decide about requests: routing, queueing, upstream patience,
// capabilities, and who may ask.

import { z } from 'zod'
import { bytes, Capability, count, duration, ModelName, ModelPattern } from './fields.ts'

const Weight = z.number().min(0).max(100_000)

export const Routing = z.strictObject({
  loaded_bonus: Weight.default(60).meta({
    unit: 'points',
    description: 'For a worker that has the model loaded with enough context.',
  }),
  installed_bonus: Weight.default(30).meta({
    unit: 'points',
    description: 'For a worker that has the model installed.',
  }),
  throughput_bonus: Weight.default(20).meta({
    unit: 'points',
    description: 'For the candidate with the best learned output rate; the others get their share.',
  }),
  load_penalty: Weight.default(40).meta({
    unit: 'points',
    description: 'For a worker whose slots are all taken; less as fewer are.',
  }),
  model_load_penalty: Weight.default(20).meta({
    unit: 'points',
    description: 'For a worker whose slots for this model are all taken; less as fewer are.',
  }),
  vram_pressure_penalty: Weight.default(35).meta({
    unit: 'points',
    description: 'For full GPU memory; less as less is used, nothing where it is unknown.',
  }),
  gpu_utilization_penalty: Weight.default(10).meta({
    unit: 'points',
    description: 'For a fully busy GPU; less as it is idle, nothing where it is unknown.',
  }),
  avoid_vram_percent: z.number().min(0).max(100).default(97).meta({
    unit: 'percent',
    description: 'GPU memory in use from which loading another model there is a last resort.',
  }),
  affinity_bonus: Weight.default(15).meta({
    unit: 'points',
    description: 'For the worker where this conversation ran last: its prompt cache is warm.',
  }),
})

export const Breaker = z.strictObject({
  failures: count(1, 1000).default(5).meta({
    description: 'Transport faults within `window` that open a worker’s breaker.',
  }),
  window: duration('1s', '1h').prefault('30s').meta({
    unit: 'duration',
    description: 'How long a transport fault counts.',
  }),
  open: duration('100ms', '1h').prefault('10s').meta({
    unit: 'duration',
    description:
      'First pause of an open breaker before one request may try; it doubles with each failure.',
  }),
  max_open: duration('100ms', '24h').prefault('2m').meta({
    unit: 'duration',
    description: 'Longest pause of an open breaker.',
  }),
})

export const Upstream = z.strictObject({
  connect_timeout: duration('50ms', '1m').prefault('2s').meta({
    unit: 'duration',
    description: 'A worker that takes longer to accept a connection is absent.',
  }),
  first_byte_grace: duration('100ms', '10m').prefault('10s').meta({
    unit: 'duration',
    description:
      'Silence before the first byte after which the worker is probed, and again each further grace. It answers: it is busy and is waited for. It does not: the request moves on.',
  }),
  first_byte_timeout: duration('1s', '24h').prefault('15m').meta({
    unit: 'duration',
    description: 'Longest wait for the first byte, however alive the worker is.',
  }),
  stream_idle_grace: duration('100ms', '10m').prefault('20s').meta({
    unit: 'duration',
    description: 'Silence within a stream after which the worker is probed.',
  }),
  stream_idle_timeout: duration('1s', '24h').prefault('5m').meta({
    unit: 'duration',
    description: 'Silence within a stream after which it ends with an error.',
  }),
  max_attempts: count(1, 100).default(3).meta({
    description:
      'Workers that one request may be sent to, one after the other, before a byte came.',
  }),
  retry_budget: duration('0s', '1h').prefault('60s').meta({
    unit: 'duration',
    description: 'How long a request may look for another worker, from its first failure on.',
  }),
  slow_reader_buffer_bytes: bytes(65_536).default(4_194_304).meta({
    unit: 'bytes',
    description:
      'What a streaming client may leave unread before it is ended: a worker is never paused for it.',
  }),
  breaker: Breaker.prefault({}).meta({
    description: 'When a worker whose connections keep failing is left alone for a while.',
  }),
})

export const Admission = z.strictObject({
  max_queue: count(0).default(256).meta({
    unit: 'requests',
    description:
      'Requests that may wait for a slot; beyond it the tenant most over its share is refused.',
  }),
  max_wait: duration('0s', '24h').prefault('240s').meta({
    unit: 'duration',
    description: 'Longest wait for a slot; then 503 with Retry-After.',
  }),
  max_body_bytes: bytes(1024).default(104_857_600).meta({
    unit: 'bytes',
    description: 'Greatest request body; a greater one is 413.',
  }),
  heartbeat: duration('1s', '10m').prefault('15s').meta({
    unit: 'duration',
    description: 'Pause between two comments that keep a waiting SSE client connected.',
  }),
})

const Context = z.strictObject({
  max_requested_tokens: count(1, 100_000_000).default(32_768).meta({
    unit: 'tokens',
    description: 'Greatest context that a request may need or ask for, on any worker.',
  }),
  default_worker_tokens: count(1, 100_000_000).default(4096).meta({
    unit: 'tokens',
    description: 'Context assumed where nothing else is known.',
  }),
  estimation_margin_percent: z.number().min(0).max(1000).default(15).meta({
    unit: 'percent',
    description: 'Added to every estimate, because characters are counted and not tokens.',
  }),
  vision_reserve_tokens_per_image: count(0, 10_000_000).default(2048).meta({
    unit: 'tokens',
    description: 'Reserved for each image of a request.',
  }),
})

export const Capabilities = z.strictObject({
  mode: z.enum(['enforce', 'observe', 'off']).default('enforce').meta({
    description:
      'A request that needs what the model is known not to have: `enforce` refuses it with 400, `observe` warns, `off` does not look.',
  }),
  cache_ttl: duration('1s', '24h').prefault('10m').meta({
    unit: 'duration',
    description: 'How long what `/api/show` said about a model is believed.',
  }),
  context_guard: z.enum(['reject', 'observe', 'off']).default('reject').meta({
    description:
      'A request that is estimated not to fit a worker’s context: `reject` refuses it there, `observe` warns, `off` does not look. Independent of `mode`.',
  }),
  context: Context.prefault({}).meta({ description: 'The figures of the context guard.' }),
})

export const Fallback = z
  .strictObject({
    model: ModelPattern.meta({ description: 'Models that this rule is for.' }),
    missing: z.array(Capability).min(1).optional().meta({
      description: 'Used when the model lacks one of these capabilities that the request needs.',
    }),
    when: z.literal('absent').optional().meta({
      description: '`absent`: used when no worker that has the model is up.',
    }),
    use: ModelName.meta({ description: 'The model that runs instead; the answer says so.' }),
  })
  .refine((rule) => (rule.missing === undefined) !== (rule.when === undefined), {
    error: 'write either "missing" or "when": one of them, not both',
  })

export const Auth = z.strictObject({
  mode: z.enum(['auto', 'keys', 'open']).default('auto').meta({
    description:
      '`auto`: no key needed on a loopback listener, keys on any other; `keys`: always; `open`: never.',
  }),
  anonymous: z
    .array(z.enum(['version', 'tags', 'show', 'models', 'ps']))
    .default(['version'])
    .meta({
      description:
        'What may be asked without a key where keys are needed: some clients look for models before they send one.',
    }),
  trust_identity_headers: z.boolean().default(false).meta({
    description:
      'Believes the user headers of Open WebUI. Only for a listener that nothing but Open WebUI reaches.',
  }),
  openwebui_jwt_secret: z.string().min(1).max(8192).nullable().default(null).meta({
    description: 'Secret with which Open WebUI signs who its user is; never displayed.',
  }),
  allowed_hosts: z.array(z.string().min(1).max(255).toLowerCase()).max(1000).default([]).meta({
    description:
      'Further values of `Host` that an open loopback listener takes; others are refused (DNS rebinding).',
  }),
})

export const Tenant = z.strictObject({
  name: z
    .string()
    .regex(/^[\p{L}\p{M}\p{N}._-]{1,63}$/u, 'use 1 to 63 letters, digits, ".", "-" or "_"')
    .meta({ description: 'The tenant’s name, unique without case.' }),
  weight: z.number().gt(0).max(1_000_000).default(1).meta({
    description:
      'Share of the fleet while tenants compete: weight 2 gets twice what weight 1 gets.',
  }),
  max_in_flight: count(0).default(0).meta({
    unit: 'requests',
    description: 'Requests of the tenant in flight; further ones wait. 0: unlimited.',
  }),
  credits: count(0, Number.MAX_SAFE_INTEGER).default(0).meta({
    unit: 'tokens',
    description: 'Tokens in plus out per window for the whole tenant; then 429. 0: unlimited.',
  }),
  actor_credits: count(0, Number.MAX_SAFE_INTEGER).default(0).meta({
    unit: 'tokens',
    description: 'Tokens in plus out per window for each of its actors; then 429. 0: unlimited.',
  }),
  credit_window: duration('1m', '24d').prefault('24h').meta({
    unit: 'duration',
    description: 'Length of a window; windows are counted from 00:00 UTC.',
  }),
  allowed_models: z.array(ModelPattern).max(10_000).default(['*']).meta({
    description: 'Models that the tenant may use.',
  }),
  denied_models: z.array(ModelPattern).max(10_000).default([]).meta({
    description: 'Models that the tenant may not use; resolved as placement is.',
  }),
  priority: z.enum(['interactive', 'background']).default('interactive').meta({
    description: 'Background requests wait behind interactive ones, but never for ever.',
  }),
})
