// What is not known passes: 10,000 requests of every kind and dialect against workers that have
// said nothing of their models.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Config } from '../../../src/gateway/config/schema.ts'
import { dialectFor } from '../../../src/gateway/dialects/dialects.ts'
import { resolveModel } from '../../../src/gateway/policy/resolve-model.ts'
import { askOf } from '../../../src/gateway/proxy/ask-of.ts'
import type { InferenceRequest } from '../../../src/gateway/proxy/inference-deps.ts'
import { schedulerRig } from '../../support/fake-fleet.ts'
import { PREFLIGHT_DIALECTS, WISHES } from '../../support/preflight-requests.ts'
import { installed, setInstalled } from '../../support/worker-records.ts'

const REQUESTS = 10_000
const MODELS = ['qwen3:8b', 'gemma4:12b', 'phi4', 'llama3.2-vision:11b']
/** All that are valid: a text for a num_ctx is refused whatever is known. */
const VALID = WISHES.filter((wish) => wish !== 'num_ctx "3000"')

function requestOf(path: string, body: Readonly<Record<string, unknown>>): InferenceRequest {
  const dialect = dialectFor(path)
  assert.ok(dialect !== undefined)
  const facts = dialect.read(body, path)
  const meant = resolveModel({}, facts.model)
  assert.ok(meant.ok)
  const identity = { tenant: 'default', actor: 'someone', session: undefined }
  const ctx = { id: 'r', path, req: { headers: {} } }
  return { dialect, facts, name: meant.name, means: 'itself', identity, ctx } as InferenceRequest
}

for (const mode of ['enforce', 'observe']) {
  const context_guard = mode === 'enforce' ? 'reject' : 'observe'
  const given = { model_capabilities: { mode, context_guard } }
  test(`${REQUESTS} requests of which nothing is known pass untouched under ${mode}`, () => {
    const rig = schedulerRig([{ name: 'w1' }, { name: 'w2' }], { config: given })
    const { model_capabilities: capabilities } = Config.parse(given)
    for (const record of rig.fleet.records) {
      const silent = { capabilities: undefined, contextLength: undefined, details: {} }
      setInstalled(
        record,
        MODELS.map((name) => installed(name, silent)),
      )
    }
    const around = { failed: new Map(), maxWaitMs: 1000, receivedAt: 0, capabilities }
    let seen = 0
    for (let at = 0; seen < REQUESTS; at += 1) {
      const { path, bodyOf } = PREFLIGHT_DIALECTS[at % PREFLIGHT_DIALECTS.length] ?? assert.fail()
      const wish = VALID[Math.floor(at / 5) % VALID.length] ?? assert.fail()
      const body = bodyOf(wish)
      if (body === undefined) continue
      const request = requestOf(path, {
        model: MODELS[Math.floor(at / 50) % MODELS.length],
        ...body,
      })
      const ask = askOf(request, { ...around, charsPerToken: 4 })
      const { decision, refusal } = rig.scheduler.explain(ask)
      assert.equal(decision.outcome, 'granted', `${path} ${wish}: ${refusal?.message}`)
      assert.deepEqual(rig.scheduler.preflight.warnings('w1', ask), [], `${path} ${wish}`)
      const numCtx = rig.scheduler.preflight.numCtxFor('w1', ask)
      assert.deepEqual(numCtx?.ok === true ? numCtx.numCtx : undefined, ask.numCtx)
      seen += 1
    }
  })
}
