// A small fleet as the contract shows it, with what is awkward in it: a worker that is down, one
// that drains, a name in wide letters, one that tries to steer the terminal, copies that differ.

import type { OutputOf } from '../../src/gateway/contract/schema.ts'
import type { Cell, CellState } from '../../src/gateway/contract/schema/placement.ts'

export const WIDE = '模型-アルファ:8b'
export const EVIL = 'x\u001b]52;c;ZXZpbA==\u0007\u009b2J\u202e:1'

type Worker = OutputOf<'workers.list'>[number]
type Model = OutputOf<'models.list'>[number]

const rules = {
  mode: 'allow_all' as const,
  allowed_models: [] as string[],
  denied_models: [] as string[],
}

export function worker(name: string, index: number, fields: Partial<Worker> = {}): Worker {
  return {
    name,
    index,
    why: '',
    health: 'up',
    since_mono: 1000,
    error: null,
    address: `http://10.0.0.${index + 1}:11434`,
    addresses: [
      {
        url: `http://10.0.0.${index + 1}:11434`,
        ip: `10.0.0.${index + 1}`,
        current: true,
        last_error: null,
      },
    ],
    version: '0.30.1',
    draining: false,
    breaker: { state: 'closed', until_mono: null },
    slots: { used: 0, limit: 4 },
    model_slots: [],
    queued: 0,
    loaded: [],
    installed: 2,
    inventory_error: null,
    rates: [],
    telemetry: null,
    telemetry_error: null,
    placement: { ...rules, layer: 'config', baseline: rules },
    ...fields,
  }
}

export const workers: Worker[] = [
  worker('node-1', 0, {
    why: 'the 4090 under the desk',
    slots: { used: 3, limit: 4 },
    queued: 1,
    loaded: [
      {
        model: 'qwen3:8b',
        size_bytes: 6_200_000_000,
        size_vram_bytes: 6_200_000_000,
        context: 8192,
        expires_at: '2026-05-01T12:05:00Z',
      },
    ],
    telemetry: {
      vram_used_bytes: 12_000_000_000,
      vram_total_bytes: 24_000_000_000,
      gpu_utilization: 0.5,
      temperature_c: 60,
      power_w: 200,
      memory_used_bytes: 16_000_000_000,
      memory_total_bytes: 64_000_000_000,
      gpus: [
        {
          id: 'GPU-1',
          name: 'NVIDIA GeForce RTX 4090',
          utilization: 0.5,
          vram_used_bytes: 12_000_000_000,
          vram_total_bytes: 24_000_000_000,
          temperature_c: 60,
          power_w: 200,
        },
      ],
    },
    placement: {
      mode: 'allow_all',
      allowed_models: ['gemma4:latest'],
      denied_models: ['gemma4:*', 'phi4:*'],
      layer: 'override',
      baseline: rules,
    },
  }),
  worker('рабочий-2', 1, { draining: true, installed: 3 }),
  worker('node-3', 2, {
    health: 'down',
    error: 'connect ECONNREFUSED\u001b[2J\u001b[1;1HPWNED',
    address: null,
    version: null,
    installed: null,
    breaker: { state: 'open', until_mono: 9000 },
  }),
]

function cell(name: string, state: CellState, fields: Partial<Cell> = {}): Cell {
  const presence = state === 'allowed' || state === 'blocked' ? 'absent' : state
  return { worker: name, state, exact: false, presence, down: name === 'node-3', ...fields }
}

function row(model: string, cells: Cell[], fields: Partial<Model> = {}): Model {
  return {
    model,
    family: 'qwen3',
    parameters: '8.2B',
    quantization: 'Q4_K_M',
    size_bytes: 5_200_000_000,
    capabilities: ['completion', 'tools'],
    context_max: 40_960,
    drift: false,
    cloud: false,
    listed: true,
    eligible: 1,
    requests_last_hour: 12,
    copies: [],
    cells,
    ...fields,
  }
}

const copy: Omit<Model['copies'][number], 'worker' | 'digest'> = {
  size_bytes: 5_200_000_000,
  modified_at: '2026-04-28T12:00:00Z',
  context_modelfile: 4096,
  context_loaded: null,
  context_effective: { tokens: 4096, source: 'modelfile', limit: null },
  loaded: false,
  output_tokens_per_s: null,
  limit: 2,
}

export const models: Model[] = [
  row(
    'qwen3:8b',
    [
      cell('node-1', 'loaded'),
      cell('рабочий-2', 'blocked', { exact: true }),
      cell('node-3', 'unknown'),
    ],
    {
      drift: true,
      copies: [
        {
          ...copy,
          worker: 'node-1',
          digest: 'sha256:500a1f067a9f7822',
          loaded: true,
          context_loaded: 40_960,
          context_effective: { tokens: 32_768, source: 'loaded', limit: 'max_requested_tokens' },
          output_tokens_per_s: 46.2,
        },
        { ...copy, worker: 'рабочий-2', digest: 'sha256:aaaaaaaaaaaaaaaa' },
        { ...copy, worker: 'node-3', digest: 'sha256:500a1f067a9f7822' },
      ],
    },
  ),
  row(
    EVIL,
    [cell('node-1', 'allowed'), cell('рабочий-2', 'installed'), cell('node-3', 'unknown')],
    {
      capabilities: null,
      listed: false,
      eligible: 0,
      copies: [{ ...copy, worker: 'рабочий-2', digest: 'sha256:bbbbbbbbbbbbbbbb' }],
    },
  ),
  row(
    WIDE,
    [
      cell('node-1', 'installed', { exact: true }),
      cell('рабочий-2', 'allowed'),
      cell('node-3', 'unknown'),
    ],
    {
      copies: [{ ...copy, worker: 'node-1', digest: 'sha256:cccccccccccccccc' }],
    },
  ),
]

export const matrix: OutputOf<'placement.show'> = models.map(({ model, cells }) => ({
  model,
  cells,
}))

type Request = OutputOf<'requests.list'>[number]

export function request(id: string, fields: Partial<Request> = {}): Request {
  return {
    id,
    tenant: 'default',
    actor: 'anna',
    model: 'qwen3:8b',
    asked_model: null,
    dialect: 'openai-chat',
    path: '/v1/chat/completions',
    priority: 'interactive',
    phase: 'streaming',
    worker: 'node-1',
    entered_at: '2026-05-01T11:59:30Z',
    entered_mono: 1000,
    phase_mono: 2000,
    attempts: 1,
    queue_ms: 12,
    first_byte_ms: 340,
    prompt_tokens: 1234,
    output_tokens: 512,
    output_tokens_per_s: 45.6,
    reason: null,
    status: null,
    age_ms: 30_000,
    ...fields,
  }
}

export const requests: Request[] = [
  request('8f21'),
  request('8f30', {
    phase: 'waiting',
    worker: null,
    queue_ms: null,
    first_byte_ms: null,
    output_tokens: null,
    output_tokens_per_s: null,
    reason: 'all slots of node-1 are in use (4/4)',
    age_ms: 12_000,
  }),
]

export const judged: OutputOf<'requests.show'>['decisions'][number]['judged'] = [
  {
    worker: 'node-1',
    stopped_by: null,
    reason: 'passed every gate',
    score: 71.25,
    terms: [
      { name: 'loaded', value: 1, points: 60 },
      { name: 'installed', value: 1, points: 30 },
      { name: 'load', value: 0.47, points: -18.75 },
    ],
  },
  {
    worker: 'рабочий-2',
    stopped_by: 'placement',
    reason: 'blocked by the exact rule deny qwen3:8b (override)',
    score: null,
    terms: [],
  },
]

export const explanation: OutputOf<'explain'> = {
  at: '2026-05-01T12:00:00Z',
  outcome: 'granted',
  worker: 'node-1',
  judged: judged.map((one, at) => ({
    ...one,
    context:
      at === 0
        ? { tokens: 32_768, source: 'loaded', limit: 'max_requested_tokens' }
        : { tokens: 4096, source: 'guess', limit: null },
  })),
  model: 'qwen3:8b',
  asked_model: null,
  answer: null,
}

export const status: OutputOf<'status'> = {
  version: '0.1.0',
  pid: 42,
  host: 'gpu-box-1',
  started_at: '2026-05-01T10:00:00Z',
  started_mono: 0,
  listen: '127.0.0.1:11435',
  ops_listen: '127.0.0.1:11436',
  socket: '/run/ogw/admin.sock',
  draining: false,
  workers_revision: 3,
  config: {
    path: '/etc/ogw/config.json',
    loaded_at: '2026-05-01T10:00:00Z',
    reload_error: null,
    restart_needed: [],
  },
  queue: { waiting: 1, limit: 256 },
  slots: { used: 3, limit: 12 },
  problems: ['worker "node-3" is down: connection refused'],
  uptime_s: 7200,
  revision: 42,
  drift: { path: '/etc/ogw/config.json', state: 'differs', keys: ['aliases'], problems: [] },
  workers: { total: 3, up: 2, down: 1, draining: 1 },
  models: 3,
  gpus: {
    count: 1,
    vram_used_bytes: 12_000_000_000,
    vram_total_bytes: 24_000_000_000,
    power_w: 200,
    temperature_c: 60,
  },
  traffic: { requests_per_s: 12.4, output_tokens_per_s: 318, error_ratio: 0.002 },
}

export const change: OutputOf<'placement.allow'> = {
  changes: [
    { model: 'qwen3:8b', worker: 'рабочий-2', before: 'blocked', after: 'installed' },
    { model: WIDE, worker: 'node-1', before: 'allowed', after: 'blocked' },
  ],
  orphaned: [],
  refused_last_hour: 0,
  changed: true,
  id: 43,
  revision: 43,
  workers: [
    {
      worker: 'рабочий-2',
      mode: 'allow_all',
      allowed_models: ['qwen3:8b'],
      denied_models: [],
      layer: 'override',
    },
  ],
  message: 'qwen3:8b may now run on рабочий-2',
}

export const history: OutputOf<'placement.history'> = [
  {
    id: 42,
    at: '2026-05-01T11:58:00Z',
    actor: 'root@pts/3',
    operation: 'deny qwen3:8b рабочий-2',
    before: [{ worker: 'рабочий-2', rules: null }],
    after: [
      {
        worker: 'рабочий-2',
        rules: { mode: 'allow_all', allowed_models: [], denied_models: ['qwen3:8b'] },
      },
    ],
    undoes: null,
  },
]

export const why: OutputOf<'placement.why'>[number] = {
  model: 'qwen3:8b',
  worker: 'рабочий-2',
  allowed: false,
  decided_by: { kind: 'exact', pattern: 'qwen3:8b' },
  layer: 'override',
  competing: [{ pattern: 'qwen3:*', verdict: 'allow' }],
}

export const events: OutputOf<'events'> = [
  {
    seq: 1,
    at: '2026-05-01T11:58:00Z',
    severity: 'error',
    event: 'worker.down',
    object: 'node-3',
    detail: 'http://10.0.0.3:11434 refused\u001b[2J',
    actor: null,
    revision: null,
  },
  {
    seq: 2,
    at: '2026-05-01T11:58:01Z',
    severity: 'info',
    event: 'placement.deny',
    object: 'qwen3:8b',
    detail: 'denied on рабочий-2',
    actor: 'root@pts/3',
    revision: 42,
  },
]

export const audit: OutputOf<'audit.list'> = [
  {
    at: '2026-05-01T11:58:00Z',
    actor: 'root@pts/3',
    verified: false,
    operation: 'placement.deny',
    input: { pattern: 'qwen3:8b', workers: ['рабочий-2'] },
    outcome: 'changed',
    before: null,
    after: null,
    message: 'qwen3:8b may no longer run on рабочий-2',
  },
]

export const storage: OutputOf<'storage.list'> = [
  {
    name: 'model_placement_file',
    path: '/var/lib/ogw/model-placement.json',
    exists: true,
    size_bytes: 1234,
    modified_at: '2026-05-01T11:58:00Z',
    holds: 'what operators set at run time',
    error: null,
  },
  {
    name: 'keys_file',
    path: '/var/lib/ogw/keys.json',
    exists: false,
    size_bytes: null,
    modified_at: null,
    holds: 'keys, hashed',
    error: null,
  },
]
