// The tenants screen in front of the real gateway: what clients use moves the bar, what is changed
// here holds for clients, and the audit tells all of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdminClient } from '../../../src/gateway/contract/client.ts'
import { socketTransport } from '../../../src/gateway/contract/transport.ts'
import { keyFor } from '../../support/key-drafts.ts'
import { type Rig, startRig } from '../../support/rig.ts'
import { startConsole } from '../../support/tty.ts'

function socketOf(rig: Rig): string {
  const { socket } = rig.gateway.parts.config().admin
  assert.ok(socket !== null)
  return socket
}

const readable = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 350))
const chat = { model: 'm:1b', messages: [{ role: 'user', content: 'hi' }], stream: false }

test('usage moves the bar; a limit, a grant and a key made here hold; the audit has them all', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 100 }],
    config: { auth: { mode: 'keys' }, tenants: [{ name: 'team', credits: 1_000 }] },
  })
  const anna = {
    ...(await keyFor(rig, { tenant: 'team', trust_identity_headers: true })),
    'x-openwebui-user-id': 'anna',
  }
  const ask = async (headers: Record<string, string>): Promise<number> => {
    const answer = await rig.post('/api/chat', chat, { headers })
    await answer.arrayBuffer()
    return answer.status
  }
  await using console = startConsole(socketOf(rig))
  await console.see(/● live/)
  await console.type('5', 'G')
  await console.see(/^>team .* {2}0 \/ 1k +0%/m)
  await console.see(/nobody has asked lately/)

  assert.equal(await ask(anna), 200)
  await console.see(/^>team .* 1 +1\d\d █.* 1\d\d \/ 1k +1\d%/m)
  await console.see(/anna +0 +0 +1 +1\d\d\/∞ +<1m/)
  await console.see(/k[0-9a-f]{10} +active .* <1m never/)

  // A limit below what is used: the next request is refused, until more is granted.
  await console.type('\r')
  await console.see(/policy of team[^]*credits +\[ \] unlimited +1000 tokens/)
  await readable()
  await console.type('\t', '\t', '\t', '\u0015', '9', '\u0013')
  await console.see(/set credits of team · u undo · \$ ogw tenants set team --credits 9/)
  await console.see(/^>team .* \/ 9 +\d+% ✗/m)
  assert.equal(await ask(anna), 429)
  await console.type('C')
  console.send('10k\r')
  await console.see(/granted team 10k/)
  assert.equal(await ask(anna), 200)
  await console.type('u', 'u')
  await console.see(/took back credits of team/)
  await console.see(/^>team .* \/ 1k /m)

  await console.type('K', '1')
  await console.see(/new key of team/)
  await readable()
  await console.type('\u0013')
  const lines = await console.see(/key k[0-9a-f]{10} of team/)
  const key = /ogw_[\w-]{43}/.exec(lines.join('\n'))?.[0] ?? ''
  const id = /key (k[0-9a-f]{10}) of team/.exec(lines.join('\n'))?.[1] ?? ''
  assert.equal(await ask({ authorization: `Bearer ${key}` }), 200)
  await readable()
  await console.type('\u001b')
  await console.see(new RegExp(`${id} +active`))
  await console.type('K')
  const menu = await console.see(new RegExp(`revoke ${id}`))
  const at = new RegExp(`(\\d) +revoke ${id}`).exec(menu.join('\n'))?.[1] ?? ''
  await console.type(at)
  await console.see(/type its id/)
  await readable()
  console.send(id)
  await console.type('\u0013')
  await console.see(new RegExp(`revoked ${id}`))
  assert.equal(await ask({ authorization: `Bearer ${key}` }), 401)

  const client = new AdminClient({ transport: socketTransport([socketOf(rig)]), actor: 'test' })
  const audit = await client.call('audit.list', {})
  client.close()
  assert.deepEqual(
    audit.map(({ operation, actor, outcome }) => `${operation} ${actor} ${outcome}`).toReversed(),
    [
      'tenants.set tester@pts/1 changed',
      'credits.grant tester@pts/1 changed',
      'credits.grant tester@pts/1 changed',
      'tenants.set tester@pts/1 changed',
      'keys.create tester@pts/1 changed',
      'keys.revoke tester@pts/1 changed',
    ],
  )
  await console.type('6', 'o')
  await console.see(/keys\.revoke[^]*tenants\.set/)
  for (const told of [audit, rig.log]) assert.ok(!JSON.stringify(told).includes(key))
})
