// The tenants screen under real keys.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import type { CommandRunner } from '../../../src/tui/console.ts'
import { type FakeGateway, startFakeGateway } from '../../support/fake-gateway.ts'
import { FAKE_SECRET } from '../../support/fake-tenants.ts'
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
  await console.see(new RegExp(`actors of ${tenant} [·.] first`))
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
  // A minute may begin meanwhile, which moves the clock: then the second look is quiet.
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < 2 && least > 0; look += 1) {
    const { bytes } = console.screen
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    least = console.screen.bytes - bytes
  }
  assert.equal(least, 0, 'a quiet fleet writes nothing')
  assert.equal(usesAsked(gateway), before)

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

test('the line below tells what has room as a whole, and when credits are counted anew', async () => {
  const long = 'a'.repeat(63)
  const account = { used: 5_300, granted: 5_000, reserved: 516, left: 199_184 }
  const spending = { credits: 200_000, account: { ...tenantLine('x').account, ...account } }
  const tenants = [tenantLine(long, spending), tenantLine('red', spending)]
  await using gateway = await startFakeGateway({
    snapshot: { ...largeFleet({ workers: 3, models: 6 }), tenants },
  })
  await using console = startConsole(gateway.socket, { columns: 80, rows: 24 })
  await console.see(/● live/)
  await console.type('5')
  await console.see(/^ a{25}… {2}credits 200k \+ 5k granted, 199k left$/m)
  await console.see(/^ actors of a+… · first \d of \d {2}\(Tab: keys\)$/m)
  await console.type('j')
  await console.see(/^ red {2}credits 200k \+ 5k granted, 199k left · ends 00:00 UTC in [^·…]*$/m)
  console.resize(120, 36)
  await console.see(/^ credits 200k \+ 5k granted, 199k left, 516 held by what runs · [^…]*$/m)
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

const TYPE_AHEAD = 350
const readable = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, TYPE_AHEAD))

test('both boxes ticked are 0 for the gateway and a sign here, on the revision seen; undo restores', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('\r')
  await console.see(/policy of research[^]*credits +\[ \] unlimited +5000000 tokens/)
  await console.see(/of each actor +\[ \] unlimited +2000000 tokens/)
  await readable()
  await console.type('\t', '\t', '\t', ' ')
  await console.see(/>credits +\[x\] unlimited ∞/)
  await console.type('\t', ' ')
  await console.see(/>of each actor +\[x\] unlimited ∞/)
  await console.type('\u0013')
  await console.see(
    /set credits, actor_credits of research · u undo · \$ ogw tenants set research --credits 0/,
  )
  assert.deepEqual(gateway.changes()[0], {
    operation: 'tenants.set',
    input: { tenant: 'research', credits: 0, actor_credits: 0, if_revision: 7 },
    actor: 'tester@pts/1',
  })
  await console.see(/>research.* 900k \/ ∞/)
  // `credits` was set at run time before, `actor_credits` was as in the config.
  await console.type('u')
  await console.see(/took back credits, actor_credits of research/)
  assert.deepEqual(gateway.changes()[1]?.input, {
    tenant: 'research',
    credits: 5_000_000,
    unset: ['actor_credits'],
    if_revision: 8,
  })
})

test('unticking brings back the number, or asks for one', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'indexer')
  await console.type('\r')
  await console.see(/credits +\[x\] unlimited ∞/)
  await readable()
  await console.type('\t', '\t', '\t', ' ', '\u0013')
  await console.see(/credits: write a number above 0, or tick unlimited/)
  assert.deepEqual(gateway.changes(), [])
  await console.type('2', 'M', ' ')
  await console.see(/\[x\] unlimited ∞/)
  await console.type(' ')
  await console.see(/\[ \] unlimited +2M/)
  await console.type('\u0013')
  await console.see(/set credits of indexer/)
  assert.partialDeepStrictEqual(gateway.changes()[0]?.input, { credits: 2_000_000 })
})

test('a change by somebody else is a conflict: what was typed stays, the rest is as it is now', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('\r')
  await console.see(/policy of research/)
  gateway.set((before) => ({
    ...before,
    access: { tenants_revision: 8, keys_revision: 4 },
    tenants: before.tenants?.map((row) =>
      row.name === 'research' ? { ...row, credits: 7_000_000 } : row,
    ),
  }))
  await readable()
  await console.type('\u0015', '3')
  await console.see(/>weight +3/)
  await console.type('\u0013')
  await console.see(/not applied: [^]*changed by[^]*anna@pts\/9/)
  await console.see(/weight +3[^]*credits +\[ \] unlimited +7000000/)
  await console.type('\u0013')
  await console.see(/set weight of research/)
  assert.deepEqual(
    gateway.changes().map(({ input }) => input),
    [
      { tenant: 'research', weight: 3, if_revision: 7 },
      { tenant: 'research', weight: 3, if_revision: 8 },
    ],
  )
})

test('undo leaves alone what somebody has changed since', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('\r')
  await console.see(/policy of research/)
  await readable()
  await console.type('5', '\u0013')
  await console.see(/set weight of research/)
  gateway.set((before) => ({
    ...before,
    access: { tenants_revision: 9, keys_revision: 4 },
    tenants: before.tenants?.map((row) => (row.name === 'research' ? { ...row, weight: 9 } : row)),
  }))
  await console.type('u')
  await console.see(/not taken back: weight of research was changed since/)
  assert.equal(gateway.changes().length, 1)
  await console.type('u')
  await console.see(/you have changed no tenant yet/)
})

// The window of the grant was over: the same refusal came for ever, and nothing older could be undone.
test('a grant that can no more be taken back does not stand before what was done earlier', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('\r')
  await console.see(/policy of research/)
  await readable()
  await console.type('5', '\u0013')
  await console.see(/set weight of research/)
  await console.type('C')
  console.send('500k\r')
  await console.see(/granted research 500k/)
  gateway.set((before) => ({
    ...before,
    tenants: before.tenants?.map((row) => ({ ...row, account: { ...row.account, granted: 0 } })),
  }))
  await console.type('u')
  await console.see(/only 0 tokens were granted in this window/)
  await console.type('u')
  await console.see(/took back weight of research/)
})

// A restore brings lower revisions back: every change was refused as one that somebody had outrun.
test('a gateway that comes back with an older state can be changed again', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-tui-'))
  const socket = path.join(folder, 'admin.sock')
  const gateway = await startFakeGateway({ socket })
  const { snapshot } = gateway
  await using console = await openAt(gateway, 'research')
  const setWeight = async (weight: string): Promise<void> => {
    await console.type('\r')
    await console.see(/policy of research/)
    await readable()
    await console.type('\u0015', weight, '\u0013')
    await console.see(/set weight of research/)
  }
  await setWeight('5')
  await gateway[Symbol.asyncDispose]()
  await console.see(/disconnected/)

  const access = { tenants_revision: 3, keys_revision: 1 }
  await using next = await startFakeGateway({ socket, snapshot: { ...snapshot, access } })
  await console.see(/the gateway is back after/)
  await setWeight('4')
  assert.deepEqual(
    next.changes().map(({ input }) => input),
    [{ tenant: 'research', weight: 4, if_revision: 3 }],
  )
  rmSync(folder, { recursive: true, force: true })
})

test('Esc leaves a dialog, and a key that came too early does not send it', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('\r')
  await console.see(/policy of research/)
  await readable()
  await console.type('9', '\u001b')
  await console.see(/nothing was changed/)
  await console.type('\r')
  await console.see(/weight +2/)
  await console.type('\u001b')
  assert.deepEqual(gateway.changes(), [])
})

test('C grants to the tenant, or to the actor under the cursor, and u takes it back', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('C')
  await console.see(/grant research/)
  console.send('500k\r')
  await console.see(
    /granted research 500k, 500k in this window · u undo · \$ ogw credits grant research 500000/,
  )
  await console.see(/>research.* \/ 5\.5M/)
  await console.type('u')
  await console.see(/took back 500k from research/)
  await console.type('\t', 'j', 'C')
  await console.see(/grant ben of research/)
  console.send('abc\r')
  await console.see(/nothing was granted: write a number/)
  await console.type('C')
  console.send('1M\r')
  await console.see(/granted ben of research 1M/)
  assert.deepEqual(
    gateway.changes().map(({ input }) => input),
    [
      { tenant: 'research', tokens: 500_000, if_revision: 7 },
      { tenant: 'research', tokens: 500_000, take_back: true, if_revision: 7 },
      { tenant: 'research', actor: 'ben', tokens: 1_000_000, if_revision: 7 },
    ],
  )
  await console.type('G', 'C')
  await console.see(/nobody vouches for this actor/)
})

test('where there is no limit there is nothing to grant; R asks, with Cancel', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'indexer')
  await console.type('C')
  await console.see(/indexer has no limit: there is nothing to grant/)
  await console.type('R')
  await console.see(/count the credits of indexer from zero\?[^]*31\.4M of ∞ are used/)
  await readable()
  await console.type('\r')
  await console.see(/nothing was changed/)
  await console.type('R')
  await readable()
  await console.type('y')
  await console.see(/indexer has used nothing in this window · \$ ogw credits reset indexer/)
  assert.deepEqual(
    gateway.changes().map(({ operation, input }) => [operation, input]),
    [['credits.reset', { tenant: 'indexer', if_revision: 7 }]],
  )
})

test('a new key is shown once, in its box, and nowhere afterwards', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('K')
  await console.see(/keys of research[^]*make a key, which is shown once/)
  await console.type('1')
  await console.see(/new key of research[^]*\(x\) infer/)
  await readable()
  await console.type('\t', '3', '0', 'd', '\u0013')
  await console.see(new RegExp(`key knew3 of research[^]*${FAKE_SECRET}[^]*cannot be read again`))
  await console.see(/made knew3 of research · \$ ogw keys create --tenant research --scope infer/)
  // A held key, or one typed too early, must not close it.
  await console.type('\r', 'q', ' ')
  await console.see(new RegExp(FAKE_SECRET))
  await readable()
  const written = console.screen.written.length
  await console.type('\u001b')
  await console.miss(new RegExp(FAKE_SECRET))
  assert.deepEqual(gateway.changes()[0]?.input, {
    tenant: 'research',
    scope: 'infer',
    expires: '30d',
    if_revision: 4,
  })
  await console.see(/keys of research · 4/)
  for (const key of ['6', 'o', 'o', ':', '\u001b[A', '\u001b', '5', '\u000c'])
    await console.type(key)
  assert.ok(!console.screen.written.slice(written).includes(FAKE_SECRET))
})

test('a key made in the palette is shown in a box too, and never as a message', async () => {
  const commands: CommandRunner = {
    run: async () => ({ code: 0, out: `${FAKE_SECRET}\n`, err: 'key k1; it is not shown again\n' }),
    complete: async () => [],
  }
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket, { commands })
  await console.see(/● live/)
  console.send(':keys create --tenant team\r')
  const lines = await console.see(new RegExp(FAKE_SECRET))
  assert.doesNotMatch(lines.at(-2) ?? '', /ogw_/)
  await readable()
  await console.type('\u001b')
  await console.miss(new RegExp(FAKE_SECRET))
})

test('revoking wants the id typed, and says when it is done already', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  await console.type('x')
  await console.see(/Tab goes to the keys/)
  await console.type('\t', '\t', 'x')
  await console.see(/revoke key k1a2b3c4d5 of research\?[^]*cannot be undone/)
  await readable()
  await console.type('\u0013')
  await console.see(/type k1a2b3c4d5 to revoke it/)
  // Enter goes on to Cancel.
  await console.type('\r')
  await console.see(/\[ Cancel \]/)
  await console.type('\r')
  await console.see(/nothing was changed/)
  assert.deepEqual(gateway.changes(), [])
  await console.type('x')
  await readable()
  console.send('\u001b[200~k1a2b3c4d5\n\u001b[201~')
  await console.type('\u0013')
  await console.see(/revoked k1a2b3c4d5: it lets nobody in · \$ ogw keys revoke k1a2b3c4d5/)
  assert.deepEqual(gateway.changes()[0]?.input, { id: 'k1a2b3c4d5', if_revision: 4 })
  await console.see(/k1a2b3c4d5 +revoked/)
  await console.type('\r')
  await console.see(/key k1a2b3c4d5[^]*state +revoked/)
  await console.type('\u001b', 'x')
  await console.see(/this key is revoked already/)
})

test('--read-only shows the policy and refuses every change with its reason', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research', { readOnly: true })
  for (const key of ['C', 'R', 'K', 'x', 'u']) {
    console.send(key)
    await console.see(/this console only reads \(--read-only\)/)
    console.send('j')
    await console.miss(/only reads/)
  }
  await console.type('\r')
  await console.see(/policy of research[^]*per actor +2000000[^]*only reads/)
  assert.deepEqual(gateway.changes(), [])
})

test('the policy at 60x16 and with --ascii: every field is reached, nothing but ASCII', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'indexer', { columns: 60, rows: 16, ascii: true })
  await console.type('\r')
  await console.see(/max in flight +\[x\] unlimited inf/)
  for (let field = 0; field < 7; field += 1) await console.type('\t')
  await console.see(/>but not/)
  await console.type('\t')
  const lines = await console.see(/\[ Cancel \]/)
  for (const line of lines) assert.match(line, /^[ -~]*$/)
})

test('while the gateway is gone every change is refused', async () => {
  await using gateway = await startFakeGateway()
  await using console = await openAt(gateway, 'research')
  gateway.freeze()
  await console.see(/STALE, silent for/, 8_000)
  for (const key of ['C', 'R', 'K', 'u']) {
    console.send(key)
    await console.see(/not sent: gateway unreachable/)
    console.send('j')
    await console.miss(/not sent/)
  }
  assert.deepEqual(gateway.changes(), [])
})

test('a screen reader hears the tenant and the field that has the focus', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket, { screenReader: true })
  await console.see(/gemma4:12b on node-1/)
  await console.type('5', 'j')
  await console.see(/screen Tenants, 7 rows[^]*batch/)
  await console.type('\r')
  await console.see(/policy of batch[^]*field 1 of 8, weight: 1/)
  await readable()
  await console.type('\t', ' ')
  await console.see(/field 2 of 8, max in flight: *$/m)
  await console.type(' ')
  await console.see(/field 2 of 8, max in flight: unlimited/)
  await console.type('\u001b')
  assert.deepEqual(gateway.changes(), [])
})
