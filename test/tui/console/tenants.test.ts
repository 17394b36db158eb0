// The tenants screen under real keys.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FakeGateway, startFakeGateway } from '../../support/fake-gateway.ts'
import { largeFleet } from '../../support/large-fleet.ts'
import { tenantLine } from '../../support/tenant-fixture.ts'
import { type ConsoleSetup, type RunningConsole, startConsole } from '../../support/tty.ts'

/** On the tenants screen, with the cursor on this one. */
async function openAt(
  gateway: FakeGateway,
  tenant: string,
  setup: ConsoleSetup = {},
): Promise<RunningConsole> {
  const console = startConsole(gateway.socket, setup)
  await console.see(/(?:●|L) live/)
  await console.type('5')
  console.send(`/tenant:${tenant}\r`)
  await console.see(new RegExp(`actors of ${tenant} · first`))
  return console
}

const usesAsked = ({ asked }: FakeGateway): number =>
  asked.filter(({ operation }) => operation === 'tenants.use').length

test('actors and keys are asked for where the cursor rests, and no more while nothing happens', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  assert.equal(usesAsked(gateway), 0, 'no other screen needs them')
  await console.type('5')
  await console.see(/actors of acme · first 4 of 6[^]*k1a2b3c4d5/)
  console.send('jjj')
  await console.see(/^>indexer/m)
  await console.see(/actors of indexer · first/)
  assert.ok(usesAsked(gateway) <= 2, 'those that the cursor passed are not asked for')

  const before = usesAsked(gateway)
  await console.settled()
  const bytes = console.screen.bytes
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  assert.equal(usesAsked(gateway), before)
  assert.equal(console.screen.bytes, bytes, 'a quiet fleet writes nothing')

  for (let step = 1; step <= 6; step += 1) {
    gateway.set((now) => ({
      ...now,
      tenants: now.tenants?.map((row) => (row.name === 'indexer' ? { ...row, active: step } : row)),
    }))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await console.settled()
  assert.ok(usesAsked(gateway) <= before + 2, 'at most every two seconds')
})

test('the cursor follows its tenant when the order changes; Tab goes through the panes', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('5', 'j')
  await console.see(/^>batch/m)
  await console.type('S')
  await console.see(/^>batch/m)
  await console.see(/sort tenant↓/)
  await console.see(/actors of batch · first/)
  await console.type('\t', 'j')
  await console.see(/^>actors of batch/m)
  await console.see(/^>ben/m)
  await console.type('\t')
  await console.see(/>keys of batch[^]*>k1a2b3c4d5/)
  await console.type('\u001b')
  await console.see(/^>batch/m)
})

test('at 80 columns one pane is shown, and Tab shows the other', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research', { columns: 80, rows: 24 })
  await console.see(/\(Tab: keys\)/)
  await console.type('\t', '\t')
  await console.see(/>keys of research · 3 {2}\(Tab: actors\)/)
  console.resize(60, 16)
  await console.see(/>keys of research[^]*>k1a2b3c4d5/)
})

test('a gateway that tells no tenants is said in one calm line', async () => {
  const { access: _access, tenants: _tenants, ...older } = largeFleet({ workers: 3, models: 6 })
  await using gateway = await startFakeGateway({ snapshot: older })
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('5')
  await console.see(/older than the console and tells no tenants/)
  for (const key of ['j', 'G', '\t', '\t', '\r', 'C', 'R', 'K', 'x', 'u', 'y', 's', '\u001b']) {
    await console.type(key)
  }
  assert.equal(usesAsked(gateway), 0)
  assert.deepEqual(gateway.changes(), [])
})

test('200 tenants: the page follows the cursor, and a filter finds one', async () => {
  const tenants = Array.from({ length: 200 }, (_, index) =>
    tenantLine(`tenant-${String(index).padStart(3, '0')}`, { credits: 1_000, keys: 50 }),
  )
  const fleet = largeFleet({ workers: 3, models: 6 })
  await using gateway = await startFakeGateway({ snapshot: { ...fleet, tenants } })
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('5', 'G')
  await console.see(/^>tenant-199/m)
  await console.see(/rows 185-200\/200/)
  await console.type('g')
  console.send('/~t042\r')
  await console.see(/^>tenant-042/m)
})
