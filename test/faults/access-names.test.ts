// B154: names with dots, and names that are members of every object, are names like any other:
// what is set for them, used under them and kept of them is theirs after a restart.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import { keyFor } from '../support/key-drafts.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'

const NAMES = ['a.b', '__proto__', 'constructor', 'toString', 'отдел-1']
const ACTORS = ['__proto__', 'x.y@example.com', 'a "quoted" one', 'hasOwnProperty']
const MODELS = ['a.b:1.5b', '__proto__:x', 'constructor:latest', 'ab/c.d:q4_0']

const adminOf = (rig: Rig): AdminClient => {
  const { socket } = rig.gateway.parts.config().admin
  return new AdminClient({ transport: socketTransport([socket ?? '']), actor: 'anna' })
}

const start = (dir: string): Promise<Rig> =>
  startRig({
    workers: [{ models: MODELS, tokens: 3 }],
    config: { auth: { mode: 'keys' }, storage: { dir } },
  })

/** All that is kept of tenants, without the times of day at which it was made. */
async function keptOf(rig: Rig): Promise<unknown> {
  await rig.quiet()
  await rig.gateway.access.flush()
  const admin = adminOf(rig)
  return {
    tenants: await admin.call('tenants.list', {}),
    keys: await admin.call('keys.list', {}),
    credits: await admin.call('credits.show', {}),
    usage: [
      await admin.call('usage', { by: 'tenant' }),
      await admin.call('usage', { by: 'actor' }),
      await admin.call('usage', { by: 'model' }),
    ],
  }
}

test('tenants, actors, keys and models keep their names over a restart', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'ogw-names-'))
  const umask = process.umask(0o022)
  t.after(() => {
    process.umask(umask)
    rmSync(dir, { recursive: true })
  })
  const before = await (async () => {
    await using rig = await start(dir)
    const admin = adminOf(rig)
    for (const [index, tenant] of NAMES.entries()) {
      await admin.call('tenants.set', {
        tenant,
        credits: 100_000 + index,
        actor_credits: 50_000,
        allowed_models: MODELS,
        denied_models: ['constructor:latest'],
      })
      const draft = { tenant, allowed_models: MODELS.slice(0, 2), trust_identity_headers: true }
      const key = await keyFor(rig, draft)
      const ask = async (model: string, user: string): Promise<number> => {
        const headers = { ...key, 'x-openwebui-user-id': user }
        const body = { model, prompt: 'hi', stream: false }
        const answer = await rig.post('/api/generate', body, { headers })
        await answer.text()
        return answer.status
      }
      for (const actor of ACTORS) {
        assert.equal(await ask('a.b:1.5b', actor), 200)
        assert.equal(await ask('__proto__:x', actor), 200)
      }
      assert.equal(await ask('constructor:latest', 'x'), 403)
      assert.equal(await ask('ab/c.d:q4_0', 'x'), 403)
    }
    return await keptOf(rig)
  })()
  const shown = JSON.stringify(before)
  for (const name of [...NAMES, ...ACTORS]) {
    assert.ok(shown.includes(JSON.stringify(name).slice(1, -1)), `${name} is there`)
  }
  for (const file of readdirSync(dir).filter((name) => name.includes('.json'))) {
    const rights = statSync(path.join(dir, file)).mode & 0o077
    assert.equal(rights, 0, `${file} is for its owner alone`)
  }
  await using again = await start(dir)
  assert.deepEqual(await keptOf(again), before)
})
