// Tenants as consoles are told of them: cheap however many keys and actors there are, and taken
// back exactly.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { AdminError } from '../../../src/gateway/contract/faults.ts'
import { configText, startAdminRig, TWO_WORKERS } from '../../support/admin-rig.ts'
import type { AdminRig } from '../../support/admin-rig.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { aRecord } from '../../support/request-records.ts'

async function lineOf(rig: AdminRig, name: string) {
  const { tenants } = await rig.client.call('snapshot', {})
  const line = tenants?.find((one) => one.name === name)
  assert.ok(line !== undefined)
  return line
}

async function revisions(rig: AdminRig) {
  const { access } = await rig.client.call('snapshot', {})
  assert.ok(access !== undefined)
  return access
}

test('a row tells what is set, who runs, the last minute and what was used', async () => {
  const clock = manualClock()
  await using rig = await startAdminRig({ clock })
  await rig.client.call('tenants.set', { tenant: 'team', credits: 1_000 })
  await rig.client.call('keys.create', { tenant: 'team', expires: '1h' })
  const ask = { tenant: 'team', actor: 'anna' }
  rig.tenantBook.done({ ...aRecord('r1', 'm:1b'), ...ask, promptTokens: 30, outputTokens: 12 })
  const paid = rig.credits.reserve({ tenant: 'team', account: 'anna' }, 100)
  assert.ok(paid.ok)
  paid.reservation.settle(42)

  const line = await lineOf(rig, 'team')
  const { keys, actors, requests_last_minute: requests, tokens_last_minute: tokens, account } = line
  assert.deepEqual([keys, actors, requests, tokens], [1, 1, 1, 42])
  assert.partialDeepStrictEqual(account, { used: 42, reserved: 0, left: 958 })
  assert.deepEqual([line.in_config, line.set_at_run_time], [false, ['credits']])

  const use = await rig.client.call('tenants.use', { tenant: 'TEAM' })
  assert.partialDeepStrictEqual(use.actors, [
    { actor: 'anna', active: 0, requests_last_hour: 1, account: { used: 42, left: null } },
  ])
  assert.deepEqual([use.keys.length, use.keys[0]?.state], [1, 'active'])

  clock.advance(61_000)
  assert.equal((await lineOf(rig, 'team')).tokens_last_minute, 0, 'the minute is over')
  clock.advance(3_600_000)
  assert.equal((await lineOf(rig, 'team')).keys, 0, 'the key has expired')
})

test('who runs comes first, then who used most; an actor without a voucher has no credits', async () => {
  await using rig = await startAdminRig()
  const book = (actor: string): void =>
    rig.tenantBook.done({ tenant: 'default', actor, promptTokens: 1, outputTokens: 1 })
  for (const actor of ['session-1', 'ben', 'anna']) book(actor)
  for (const [account, used] of [
    ['anna', 10],
    ['ben', 20],
  ] as const) {
    const paid = rig.credits.reserve({ tenant: 'default', account }, used)
    assert.ok(paid.ok)
    paid.reservation.settle(used)
  }
  const running = { tenant: 'default', actor: 'cara', phase: 'streaming' }
  rig.active.push(running as (typeof rig.active)[number])
  const { actors, actors_total } = await rig.client.call('tenants.use', { tenant: 'default' })
  assert.deepEqual(
    actors.map(({ actor }) => actor),
    ['cara', 'ben', 'anna', 'session-1'],
  )
  assert.equal(actors.at(-1)?.account, null)
  const { actors: first } = await rig.client.call('tenants.use', { tenant: 'default', limit: 1 })
  assert.deepEqual([first.length, actors_total], [1, 4])
})

// 200 tenants are a page of a console; their keys and actors are not sent to it at all.
test('200 tenants with 10,000 keys and 10,000 actors are a small snapshot, quickly made', async () => {
  await using rig = await startAdminRig()
  const tenants = Array.from({ length: 200 }, (_, index) => ({
    name: `tenant-${index}`,
    credits: 1_000_000,
  }))
  const text = JSON.parse(configText(TWO_WORKERS, rig.dir)) as object
  writeFileSync(rig.configFile, JSON.stringify({ ...text, tenants }))
  await rig.client.call('config.reload', {})
  const stored = Array.from({ length: 10_000 }, (_, index) => ({
    id: `k${index}`,
    kind: 'secret' as const,
    verifier: `v${index}`,
    tenant: `tenant-${index % 200}`,
    scope: 'infer' as const,
    created_at: '2026-01-01T00:00:00.000Z',
    created_by: 'test',
    expires_ms: null,
    allowed_models: ['*'],
    denied_models: [],
    trust_identity_headers: false,
    revoked_at: null,
  }))
  let listed = 0
  rig.keys.list = () => {
    listed += 1
    return stored
  }
  for (let actor = 0; actor < 10_000; actor += 1) {
    const payer = { tenant: `tenant-${actor % 200}`, account: `actor-${actor}` }
    const paid = rig.credits.reserve(payer, 1)
    assert.ok(paid.ok)
    paid.reservation.settle(actor)
  }
  const lines = rig.sources.tenants.lines()
  assert.deepEqual([lines.length, lines[1]?.keys, lines[1]?.actors], [201, 50, 50])
  const bytes = JSON.stringify(lines).length
  assert.ok(bytes < 201 * 600, `${bytes} bytes`)
  rig.sources.tenants.lines()
  const before = process.cpuUsage()
  for (let round = 0; round < 20; round += 1) rig.sources.tenants.lines()
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1000 / 20
  assert.ok(ms < 10, `${ms} ms: four of them a second may not be felt`)

  listed = 0
  const use = rig.sources.tenants.use({ ...lineSettings(rig, 'tenant-7') })
  assert.deepEqual([use.keys.length, use.keys_total, use.actors.length], [50, 50, 50])
  assert.equal(listed, 1)
})

function lineSettings(rig: AdminRig, name: string) {
  const found = rig.sources.reload.config.tenants.find((one) => one.name === name)
  assert.ok(found !== undefined)
  return found
}

test('a change on an older revision is refused, whatever it changes', async () => {
  await using rig = await startAdminRig()
  const old = await revisions(rig)
  await rig.clientOf('ben@pts/2').call('tenants.set', { tenant: 'team', weight: 2 })
  await rig.client.call('keys.create', { tenant: 'team' })
  const conflict = (error: unknown): boolean =>
    error instanceof AdminError && error.code === 'conflict'
  const { client } = rig
  const if_revision = old.tenants_revision
  await assert.rejects(client.call('tenants.set', { tenant: 'team', if_revision }), conflict)
  await assert.rejects(
    client.call('credits.grant', { tenant: 'team', tokens: 5, if_revision }),
    /changed by ben@pts\/2/,
  )
  await assert.rejects(
    client.call('keys.create', { tenant: 'team', if_revision: old.keys_revision }),
    conflict,
  )
})

test('unset takes a field back to what the config says', async () => {
  await using rig = await startAdminRig()
  const text = JSON.parse(configText(TWO_WORKERS, rig.dir)) as object
  const tenants = [{ name: 'team', weight: 3, credits: 700 }]
  writeFileSync(rig.configFile, JSON.stringify({ ...text, tenants }))
  await rig.client.call('config.reload', {})
  await rig.client.call('tenants.set', { tenant: 'team', weight: 9, credits: 0 })
  const tried = await rig.client.call('tenants.set', {
    tenant: 'team',
    unset: ['weight'],
    dry_run: true,
  })
  assert.equal(tried.weight, 3)
  assert.equal((await lineOf(rig, 'team')).weight, 9, 'a dry run changes nothing')
  const row = await rig.client.call('tenants.set', {
    tenant: 'team',
    unset: ['weight'],
    credits: 50,
  })
  assert.deepEqual([row.weight, row.credits, row.set_at_run_time], [3, 50, ['credits']])
  const [entry] = await rig.client.call('audit.list', { limit: 1 })
  assert.equal(entry?.message, 'set credits; weight as in the config')
})

test('a grant is taken back, but no more than was granted', async () => {
  await using rig = await startAdminRig()
  const tenant = 'default'
  await rig.client.call('credits.grant', { tenant, tokens: 500 })
  const left = await rig.client.call('credits.grant', { tenant, tokens: 200, take_back: true })
  assert.equal(left.granted, 300)
  await assert.rejects(
    rig.client.call('credits.grant', { tenant, tokens: 301, take_back: true }),
    /only 300 tokens were granted/,
  )
})
