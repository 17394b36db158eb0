// Snapshots of any size, the same for the same size: what a console is drawn from in tests and
// benchmarks. Rules decide the cells, as they do in a gateway.

import type { ModelRow } from '../../src/gateway/contract/schema/models.ts'
import type { Cell } from '../../src/gateway/contract/schema/placement.ts'
import type { RequestRow } from '../../src/gateway/contract/schema/requests.ts'
import type { Snapshot } from '../../src/gateway/contract/schema/snapshot.ts'
import type { WorkerRow } from '../../src/gateway/contract/schema/workers.ts'
import { compilePlacement, decidePlacement } from '../../src/gateway/policy/placement.ts'
import type { PlacementRules } from '../../src/gateway/contract/schema/common.ts'
import { status } from './fleet-fixture.ts'
import { tenantLines } from './tenant-fixture.ts'

const FAMILIES: readonly (readonly [string, readonly string[]])[] = [
  ['gemma4', ['12b', '27b', 'latest']],
  ['llama4', ['maverick', 'scout']],
  ['mistral-small3.2', ['24b']],
  ['nomic-embed-text', ['v1.5']],
  ['orcarouter/coder', ['14b']],
  ['orcarouter/router', ['3b']],
  ['phi4', ['14b', 'mini']],
  ['qwen3', ['0.6b', '14b', '30b-a3b', '32b', '8b']],
  ['qwen3-vl', ['30b', '8b']],
  ['smollm3', ['3b']],
]

/** The wall clock of the picture. */
export const PICTURE_TIME = Date.parse('2026-05-01T12:00:00Z')
const MONO = 10_000_000

export interface FleetSize {
  workers: number
  models: number
  requests?: number
}

export function largeFleet({ workers, models, requests = 12 }: FleetSize): Snapshot {
  const random = seeded(42)
  const names = modelNames(models)
  const present = new Map<string, Cell['presence'][]>()
  for (const name of names) {
    present.set(
      name,
      Array.from({ length: workers }, () => presence(random())),
    )
  }
  const rows = Array.from({ length: workers }, (_, index) =>
    workerRow(index, names, present, random),
  )
  const snapshot: Snapshot = {
    mono: MONO,
    gateway: {
      ...gatewaySection(),
      slots: {
        used: sum(rows.map(({ slots }) => slots.used)),
        limit: sum(rows.map(({ slots }) => slots.limit)),
      },
    },
    traffic: { requests_per_s: 12.4, output_tokens_per_s: 318, error_ratio: 0.002 },
    placement: { revision: 41, last: null, orphans: [] },
    workers: rows,
    models: names.map((name) => modelRow(name, rows, present.get(name) ?? [])),
    requests: Array.from({ length: workers * models === 0 ? 0 : requests }, (_, index) =>
      requestRow(index, rows, names),
    ).toReversed(),
    access: { tenants_revision: 7, keys_revision: 4 },
    tenants: tenantLines(),
    events: eventRows(),
  }
  return snapshot
}

/** The rows again, with the cells that the workers' rules make now. */
export function decideCells(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    models: snapshot.models.map((row) => {
      const cells = snapshot.workers.map((worker, index) =>
        cellOf(worker, row.model, row.cells[index]?.presence ?? 'absent'),
      )
      const same = cells.every(
        (cell, index) => JSON.stringify(cell) === JSON.stringify(row.cells[index]),
      )
      return same ? row : { ...row, cells, eligible: eligibleOf(cells) }
    }),
  }
}

export function cellOf(worker: WorkerRow, model: string, presence: Cell['presence']): Cell {
  const verdict = decidePlacement(compilePlacement(worker.placement), model.toLowerCase(), {
    cloud: false,
  })
  const state = presence === 'absent' ? 'allowed' : presence
  return {
    worker: worker.name,
    state: verdict.allowed ? state : 'blocked',
    exact: verdict.decidedBy.kind === 'exact',
    presence,
    down: worker.health === 'down',
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0)

/** A small generator of the same numbers each time. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

function modelNames(count: number): string[] {
  const names = FAMILIES.flatMap(([family, tags]) => tags.map((tag) => `${family}:${tag}`))
  for (let family = 1; names.length < count; family += 1) {
    for (const tag of ['1b', '3b', '7b', '13b', '30b', '70b']) names.push(`model-${family}:${tag}`)
  }
  return names.slice(0, count).toSorted()
}

function presence(chance: number): Cell['presence'] {
  if (chance < 0.1) return 'loaded'
  return chance < 0.4 ? 'installed' : 'absent'
}

const NO_RULES: PlacementRules = { mode: 'allow_all', allowed_models: [], denied_models: [] }

function rulesOf(index: number): PlacementRules {
  if (index === 1) {
    return {
      mode: 'allow_all',
      allowed_models: ['gemma4:latest'],
      denied_models: ['gemma4:*', 'phi4:*'],
    }
  }
  if (index % 5 === 4)
    return { mode: 'whitelist', allowed_models: ['qwen3:*', 'gemma4:*'], denied_models: [] }
  return NO_RULES
}

function workerRow(
  index: number,
  models: readonly string[],
  present: ReadonlyMap<string, readonly Cell['presence'][]>,
  random: () => number,
): WorkerRow {
  const placement = rulesOf(index)
  const down = index === 5
  const loaded = models.filter((name) => present.get(name)?.[index] === 'loaded').slice(0, 3)
  const used = down ? 0 : Math.floor(random() * 5)
  const url = `http://10.10.11.${((index + 1) * 10) % 250}:11434`
  return {
    name: `node-${index + 1}`,
    index,
    why: index === 0 ? 'the 4090 under the desk' : '',
    health: down ? 'down' : 'up',
    since_mono: MONO - 3_600_000,
    error: down ? 'no address answers: connect timeout' : null,
    address: down ? null : url,
    addresses: [{ url, ip: null, current: !down, last_error: null }],
    version: down ? null : '0.30.1',
    draining: index === 7,
    breaker: { state: down ? 'open' : 'closed', until_mono: null },
    slots: { used, limit: 4 },
    model_slots: loaded.slice(0, 1).map((model) => ({ model, used, limit: 4 })),
    queued: used === 4 ? 2 : 0,
    loaded: loaded.map((model) => ({
      model,
      size_bytes: 6_200_000_000,
      size_vram_bytes: 6_200_000_000,
      context: 8192,
      expires_at: '2026-05-01T12:05:00Z',
    })),
    installed: models.filter((name) => present.get(name)?.[index] !== 'absent').length,
    inventory_error: null,
    rates: loaded.map((model) => ({
      model,
      output_tokens_per_s: 40 + index,
      prompt_tokens_per_s: 900,
    })),
    telemetry: index % 4 === 3 ? null : telemetryOf(index, loaded.length, used),
    telemetry_error: null,
    placement: { ...placement, layer: index === 1 ? 'override' : 'config', baseline: NO_RULES },
  }
}

function telemetryOf(
  index: number,
  loaded: number,
  used: number,
): NonNullable<WorkerRow['telemetry']> {
  const figures = {
    vram_used_bytes: 6_000_000_000 * (1 + loaded),
    vram_total_bytes: 25_769_803_776,
    temperature_c: 50 + index,
    power_w: 180 + index * 5,
  }
  return {
    ...figures,
    gpu_utilization: used / 4,
    memory_used_bytes: 16_000_000_000,
    memory_total_bytes: 64_000_000_000,
    gpus: [{ ...figures, id: `GPU-${index}`, name: 'RTX 4090', utilization: used / 4 }],
  }
}

function eligibleOf(cells: readonly Cell[]): number {
  return cells.filter(({ state, down }) => !down && (state === 'loaded' || state === 'installed'))
    .length
}

function modelRow(
  model: string,
  workers: readonly WorkerRow[],
  presences: readonly Cell['presence'][],
): ModelRow {
  const cells = workers.map((worker, index) => cellOf(worker, model, presences[index] ?? 'absent'))
  const has = cells.filter(({ presence: one }) => one !== 'absent')
  return {
    model,
    family: model.split(/[:/]/)[0] ?? null,
    parameters: '8.2B',
    quantization: 'Q4_K_M',
    size_bytes: 5_200_000_000,
    capabilities: model.startsWith('nomic') ? ['embedding'] : ['completion', 'tools'],
    context_max: 40_960,
    drift: model === 'qwen3:14b',
    cloud: false,
    listed: true,
    eligible: eligibleOf(cells),
    requests_last_hour: model.length * 3,
    copies: has.map(({ worker, presence: one }) => ({
      worker,
      digest: `sha256:${model.length.toString(16).padStart(12, '5')}`,
      size_bytes: 5_200_000_000,
      modified_at: '2026-04-28T12:00:00Z',
      context_modelfile: 16_384,
      context_loaded: one === 'loaded' ? 8192 : null,
      context_effective:
        one === 'loaded'
          ? { tokens: 8192, source: 'loaded', limit: null }
          : { tokens: 16_384, source: 'modelfile', limit: null },
      loaded: one === 'loaded',
      output_tokens_per_s: one === 'loaded' ? 46 : null,
      limit: 4,
    })),
    cells,
  }
}

function gatewaySection(): Snapshot['gateway'] {
  const {
    uptime_s: _uptime,
    revision: _revision,
    drift: _drift,
    workers: _w,
    models: _m,
    traffic: _t,
    ...rest
  } = status
  return { ...rest, started_mono: 0, queue: { waiting: 2, limit: 256 }, problems: [] }
}

const STAGES: readonly Partial<RequestRow>[] = [
  { phase: 'streaming' },
  { phase: 'streaming' },
  { phase: 'sent', first_byte_ms: null, output_tokens: null, output_tokens_per_s: null },
  {
    phase: 'waiting',
    worker: null,
    queue_ms: null,
    first_byte_ms: null,
    output_tokens: null,
    output_tokens_per_s: null,
    reason: 'all slots of node-1 are in use (4/4)',
  },
  { phase: 'streaming' },
  { phase: 'done', status: 200 },
  { phase: 'failed', status: 503, attempts: 2, first_byte_ms: null, reason: 'no worker is up' },
]

/** One of the list, round and round. */
const pick = <T>(list: readonly T[], index: number): T => list[index % list.length]!

function requestRow(
  index: number,
  workers: readonly WorkerRow[],
  models: readonly string[],
): RequestRow {
  const ageMs = (index + 1) * 3_000
  return {
    id: `8f${(index + 33).toString(16)}`,
    tenant: pick(['acme', 'research', 'default'], index),
    actor: 'anna',
    model: pick(models, index * 7),
    asked_model: null,
    dialect: pick(['openai-chat', 'anthropic', 'ollama'], index),
    path: '/v1/chat/completions',
    priority: 'interactive',
    phase: 'streaming',
    worker: pick(workers, index).name,
    entered_at: new Date(PICTURE_TIME - ageMs).toISOString(),
    entered_mono: MONO - ageMs,
    phase_mono: MONO - index * 1_000,
    attempts: 1,
    queue_ms: 12,
    first_byte_ms: 340,
    prompt_tokens: 1234,
    output_tokens: 512 + index,
    output_tokens_per_s: 45,
    reason: null,
    status: null,
    ...pick(STAGES, index),
  }
}

function eventRows(): Snapshot['events'] {
  const at = (seconds: number): string => new Date(PICTURE_TIME - seconds * 1000).toISOString()
  return [
    {
      seq: 1,
      at: at(900),
      severity: 'info',
      event: 'config.reload',
      object: 'config.json',
      detail: '2 workers changed',
      actor: 'deploy@cli',
      revision: null,
    },
    {
      seq: 2,
      at: at(180),
      severity: 'error',
      event: 'worker.down',
      object: 'node-6',
      detail: 'no address answers: connect timeout',
      actor: null,
      revision: null,
    },
    {
      seq: 3,
      at: at(60),
      severity: 'warn',
      event: 'model.drift',
      object: 'qwen3:14b',
      detail: 'digests differ',
      actor: null,
      revision: null,
    },
    {
      seq: 4,
      at: at(30),
      severity: 'info',
      event: 'placement.deny',
      object: 'phi4:*',
      detail: 'denied phi4:* on node-2',
      actor: 'root@pts/3',
      revision: 41,
    },
  ]
}
