import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Config } from '../../../src/gateway/config/schema.ts'
import { TenantsState } from '../../../src/gateway/state/tenants-state.ts'

const rigOf = (config: readonly object[]) => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'ogw-tenants-')), 'tenants.json')
  const written = Config.shape.tenants.parse(config)
  const open = () => new TenantsState(file)
  const state = open()
  return {
    file,
    state,
    open,
    all: (of = state) => of.effective(written),
    set: (name: string, edit: object) => state.set(name, edit, { actor: 'test', check() {} }),
  }
}

test('what is set at run time lies field by field over the config, and is kept', async () => {
  const { set, all, open } = rigOf([{ name: 'team', weight: 3, credits: 100 }])
  await set('TEAM', { credits: 500 })
  await set('team', { max_in_flight: 2 })
  for (const tenants of [all(), all(open())]) {
    const [team] = tenants
    assert.deepEqual(
      [team?.name, team?.weight, team?.credits, team?.max_in_flight],
      ['team', 3, 500, 2],
    )
    assert.deepEqual(
      tenants.map(({ name }) => name),
      ['team', 'default'],
    )
  }
})

// Requests without a key carry that name: another spelling would leave them without their limits.
test('limits of Default hold for default', () => {
  const { all } = rigOf([{ name: 'Default', credits: 100 }])
  assert.deepEqual(
    all().map(({ name, credits }) => [name, credits]),
    [['default', 100]],
  )
})

test('the same array while nothing changes', async () => {
  const { all, set } = rigOf([])
  const before = all()
  assert.equal(all(), before)
  await set('new', {})
  assert.notEqual(all(), before)
})

// What is in force is made anew at each change, on the loop that serves.
test('a change among 3,000 tenants holds nobody up', async () => {
  const { file, open } = rigOf([])
  const tenants = Array.from({ length: 3000 }, (_, index) => ({ name: `team-${index}`, weight: 2 }))
  writeFileSync(file, JSON.stringify({ version: 1, revision: 1, tenants }))
  const state = open()
  const begun = performance.now()
  const all = state.effective([])
  const took = performance.now() - begun
  assert.equal(all.length, 3001)
  assert.ok(took < 250, `${took} ms`)
})
