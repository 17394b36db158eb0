import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { hashOfKey } from '../../../src/gateway/state/keys-state.ts'
import { KEY_DRAFT } from '../../support/key-drafts.ts'
import { startRig } from '../../support/rig.ts'

const KEYS = 10_000

/** keys.json as so many calls of `keys create` leave it. */
function writeKeys(dir: string): void {
  const { actor, ...draft } = KEY_DRAFT
  const keys = Array.from({ length: KEYS }, (_, index) => ({
    id: `k${index.toString(16).padStart(10, '0')}`,
    kind: 'secret',
    verifier: hashOfKey(`ogw_number-${index}`),
    ...draft,
    created_at: new Date(0).toISOString(),
    created_by: actor,
    revoked_at: null,
  }))
  const text = JSON.stringify({ version: 1, revision: KEYS, keys }, null, 2)
  writeFileSync(path.join(dir, 'keys.json'), text, { mode: 0o600 })
}

test('10,000 keys: a start, a request and a new key take no longer than people notice', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'ogw-keys-'))
  t.after(() => rmSync(dir, { recursive: true }))
  writeKeys(dir)
  const begun = performance.now()
  await using rig = await startRig({
    workers: [{ models: ['m:1b'] }],
    config: { auth: { mode: 'keys' }, storage: { dir } },
  })
  const started = performance.now() - begun
  assert.ok(started < 3_000, `the start took ${started} ms`)

  const timeOf = async (number: number): Promise<number> => {
    const headers = { authorization: `Bearer ogw_number-${number}` }
    const from = performance.now()
    const answer = await fetch(`${rig.url}/api/tags`, { headers })
    await answer.arrayBuffer()
    assert.equal(answer.status, number < KEYS ? 200 : 401)
    return performance.now() - from
  }
  await timeOf(0) // the index is made, and the code is compiled
  const took: number[] = []
  for (let round = 0; round < 50; round += 1) {
    for (const number of [0, KEYS - 1, KEYS]) took.push(await timeOf(number))
  }
  const median = took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? 0
  assert.ok(median < 20, `half of the requests took more than ${median} ms`)

  const from = performance.now()
  const { key, stored } = await rig.gateway.access.keys.create(KEY_DRAFT)
  const headers = { authorization: `Bearer ${key}` }
  assert.equal((await fetch(`${rig.url}/api/tags`, { headers })).status, 200)
  await rig.gateway.access.keys.revoke(stored.id)
  assert.equal((await fetch(`${rig.url}/api/tags`, { headers })).status, 401)
  const changed = performance.now() - from
  assert.ok(changed < 2_000, `making, using and revoking one took ${changed} ms`)
})
