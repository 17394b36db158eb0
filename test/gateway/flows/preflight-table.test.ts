// Request × worker state → verdict, source of the context, error body per dialect, as clients get
// it over the wire. The table is test/golden/preflight, one file a state.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import type { WorkerOptions } from '../../../src/cli/simulator/worker.ts'
import { PREFLIGHT_DIALECTS, WISHES } from '../../support/preflight-requests.ts'
import type { PreflightDialect, Wish } from '../../support/preflight-requests.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig, RigOptions } from '../../support/rig.ts'
import { until } from '../../support/until.ts'
import { ROOT } from '../../support/write-docs.ts'

const GOLDEN = path.join(ROOT, 'test', 'golden', 'preflight')
const MODEL = 'm:1b'
const EVERYTHING = ['completion', 'tools', 'vision', 'thinking']

interface State extends Pick<RigOptions, 'workerConfig' | 'config'> {
  what: string
  workers: WorkerOptions[]
  /** Loaded before each request, on every worker; otherwise on none. */
  loaded?: boolean
  showFails?: boolean
}

const worker = (capabilities: string[], model: object = {}, more: object = {}): WorkerOptions => ({
  models: [{ name: MODEL, capabilities, ...model }],
  ...more,
})
const observe = { model_capabilities: { mode: 'observe', context_guard: 'observe' } }

const STATES: Record<string, State> = {
  unknown: {
    what: 'a worker whose list has no capabilities and whose /api/show fails',
    workers: [worker(EVERYTHING, {}, { version: '0.20.0' })],
    showFails: true,
  },
  old: {
    what: 'a worker of 2024: it tells neither capabilities nor contexts, and has fewer routes',
    workers: [worker(EVERYTHING, {}, { version: '0.5.7' })],
  },
  'listed-only': {
    what: 'capabilities from the list of models; nothing is loaded, a guess speaks',
    workers: [worker(EVERYTHING)],
  },
  'completion-only': {
    what: 'a model that can do nothing but complete',
    workers: [worker(['completion'])],
  },
  'loaded-small': {
    what: 'loaded with 2048 tokens',
    workers: [worker(EVERYTHING, {}, { defaultContext: 2048 })],
    loaded: true,
  },
  'loaded-large': {
    what: 'loaded with 16384 tokens',
    workers: [worker(EVERYTHING, {}, { defaultContext: 16_384 })],
    loaded: true,
  },
  modelfile: {
    what: 'not loaded; its Modelfile says 2048',
    workers: [worker(EVERYTHING, { parameters: { num_ctx: 2048 } })],
  },
  'worker-default': {
    what: 'not loaded; default_context_tokens is 8192',
    workers: [worker(EVERYTHING)],
    workerConfig: { default_context_tokens: 8192 },
  },
  'context-limits': {
    what: 'loaded with 16384 tokens, of which context_limits allows 4000',
    workers: [worker(EVERYTHING, {}, { defaultContext: 16_384 })],
    workerConfig: { context_limits: { 'm:*': 4000 } },
    loaded: true,
  },
  'gateway-limit': {
    what: 'not loaded; the gateway gives nobody more than 5000 (max_requested_tokens)',
    workers: [worker(EVERYTHING)],
    config: { model_capabilities: { context: { max_requested_tokens: 5000 } } },
  },
  'model-maximum': {
    what: 'not loaded; the model was trained for 4096',
    workers: [worker(EVERYTHING, { context: 4096 })],
  },
  'two-workers': {
    what: 'node-1 is loaded with 2048 and completes only, node-2 has 16384 and can do everything',
    workers: [
      worker(['completion'], { digest: 'a'.repeat(64) }, { defaultContext: 2048 }),
      worker(EVERYTHING, { digest: 'b'.repeat(64) }, { defaultContext: 16_384 }),
    ],
    // Equals take turns then, and nothing that was learned on the way decides.
    config: { routing: { throughput_bonus: 0, affinity_bonus: 0 } },
    loaded: true,
  },
  observe: {
    what: 'completes only, loaded with 2048; both modes are observe',
    workers: [worker(['completion'], {}, { defaultContext: 2048 })],
    config: observe,
    loaded: true,
  },
  off: {
    what: 'completes only, loaded with 2048; both modes are off',
    workers: [worker(['completion'], {}, { defaultContext: 2048 })],
    config: { model_capabilities: { mode: 'off', context_guard: 'off' } },
    loaded: true,
  },
  clamp: {
    what: 'loaded with 8192, its maximum; num_ctx.policy is clamp',
    workers: [worker(EVERYTHING, { context: 8192 }, { defaultContext: 8192 })],
    config: { num_ctx: { policy: 'clamp' } },
    loaded: true,
  },
  snap: {
    what: 'loaded with 8192; num_ctx.policy is snap',
    workers: [worker(EVERYTHING, {}, { defaultContext: 8192 })],
    config: { num_ctx: { policy: 'snap' } },
    loaded: true,
  },
}

for (const [name, state] of Object.entries(STATES)) {
  test(`preflight: ${name}`, async (t) => {
    const lines = [state.what]
    const probe = { interval: '30s', timeout: '10s' }
    const { workerConfig } = state
    await using rig = await startRig({ ...state, workerConfig: { probe, ...workerConfig } })
    for (const sim of state.showFails === true ? rig.sims : []) {
      await sim.faults.add({ kind: 'status', status: 500, path: '/api/show' })
    }
    await (await rig.post('/api/chat', { model: MODEL, messages: [] })).text()
    await settle(rig, state)
    lines.push(...contextLines(rig))
    for (const dialect of PREFLIGHT_DIALECTS) {
      lines.push('', `POST ${dialect.path}`)
      for (const wish of WISHES) {
        await settle(rig, state)
        const row = await rowOf(rig, dialect, wish)
        if (row !== undefined) lines.push(`  ${wish.padEnd(16)}${row}`)
      }
    }
    t.assert.fileSnapshot(`${lines.join('\n')}\n`, path.join(GOLDEN, `${name}.txt`), {
      serializers: [String],
    })
  })
}

/** Loaded or not, as the state has it, and known to the gateway. */
async function settle(rig: Rig, { loaded = false }: State): Promise<void> {
  for (const [index, sim] of rig.sims.entries()) {
    const order = { model: MODEL, ...(loaded ? {} : { keep_alive: 0 }) }
    const body = JSON.stringify(order)
    const answer = await fetch(`${sim.url}/api/generate`, { method: 'POST', body })
    assert.equal(answer.status, 200, await answer.text())
    const name = `node-${index + 1}`
    // A read that was under way before may still tell of the time before.
    await until(
      async () => {
        await rig.gateway.parts.inventory.readNow(name)
        const known = rig.gateway.parts.fleet.worker(name)?.loaded
        if (known?.state !== 'known') return false
        const [own] = sim.scheduler.loaded()
        const seen = known.models.get(MODEL)
        const size = seen?.contextLength ?? own?.numCtx
        return (own === undefined) === (seen === undefined) && size === own?.numCtx
      },
      { timeoutMs: 10_000, what: 'the gateway knows what is loaded' },
    )
    sim.record.reset()
  }
}

function contextLines(rig: Rig): string[] {
  const { fleet, scheduler } = rig.gateway.parts
  return fleet.workers().map(({ name }) => {
    const context = scheduler.preflight.contextOn(name, MODEL)
    assert.ok(context !== undefined)
    const { tokens, source, limit } = context
    return `context on ${name}: ${tokens} (${source}${limit === undefined ? '' : `, limited by ${limit}`})`
  })
}

async function rowOf(
  rig: Rig,
  { path: route, bodyOf }: PreflightDialect,
  wish: Wish,
): Promise<string | undefined> {
  const body = bodyOf(wish)
  if (body === undefined) return undefined
  const answer = await rig.post(route, { model: MODEL, ...body })
  const text = await answer.text()
  const loads = rig.sims.flatMap((sim) =>
    sim.record.requests({ path: '/api/generate' }).filter(({ body: sent }) => isEmptyLoad(sent)),
  )
  const asked = rig.sims.flatMap((sim) => sim.record.requests({ path: route })).length
  const notes = [
    loads.length > 0 ? 'after an empty load' : '',
    warningOf(answer),
    answer.status >= 400 && asked > 0 && route !== '/api/generate' ? 'said by the worker' : '',
  ].filter((note) => note !== '')
  const id = /req[-_][\w-]+|[\da-f]{8}-[\da-f-]{27}/g
  const said =
    answer.status < 400 ? (answer.headers.get('x-ogw-worker') ?? '') : text.trim().replace(id, 'ID')
  return [String(answer.status), said, ...notes.map((note) => `[${note}]`)].join(' ')
}

function warningOf(answer: Response): string {
  const warning = answer.headers.get('x-ogw-warning')
  return warning === null ? '' : `x-ogw-warning: ${warning}`
}

const isEmptyLoad = (body: string | Buffer | undefined): boolean =>
  Object.keys(JSON.parse(String(body)) as object).join() === 'model'
