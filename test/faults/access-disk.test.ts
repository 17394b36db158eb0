// A disk that takes nothing: what operators change is refused and changes nothing, requests are
// served and counted as ever, the trouble is told, and afterwards the books are exact.

import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { AdminError } from '../../src/gateway/contract/faults.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import { keyFor } from '../support/key-drafts.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const adminOf = (rig: Rig): AdminClient => {
  const { socket } = rig.gateway.parts.config().admin
  return new AdminClient({ transport: socketTransport([socket ?? '']), actor: 'anna' })
}

/** Puts a file where the folder was: every write fails, whoever runs the test. */
function breakDisk(rig: Rig): () => void {
  const dir = rig.gateway.parts.config().storage.dir ?? ''
  renameSync(dir, `${dir}.away`)
  writeFileSync(dir, '')
  return () => {
    rmSync(dir)
    renameSync(`${dir}.away`, dir)
  }
}

async function isNotSaved(change: Promise<unknown>): Promise<void> {
  await assert.rejects(change, (error) => {
    assert.ok(error instanceof AdminError)
    assert.equal(error.code, 'not_saved')
    assert.match(error.message, /could not be written, so nothing changed/)
    return true
  })
}

test('with a full disk changes are refused, requests are served, and no token is lost', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 4 }],
    config: { auth: { mode: 'keys' }, tenants: [{ name: 'team', credits: 100_000 }] },
  })
  const headers = await keyFor(rig, { tenant: 'team' })
  const [key] = rig.gateway.access.keys.list()
  assert.ok(key)
  const admin = adminOf(rig)
  const ask = async (): Promise<number> => {
    const body = { model: 'm:1b', prompt: 'hi', stream: false }
    const answer = await rig.post('/api/generate', body, { headers })
    await answer.text()
    return answer.status
  }
  assert.equal(await ask(), 200)
  await rig.gateway.access.flush()
  const before = {
    keys: await admin.call('keys.list', {}),
    tenant: await admin.call('tenants.show', { tenant: 'team' }),
  }

  const mend = breakDisk(rig)
  await isNotSaved(admin.call('keys.create', { tenant: 'team' }))
  await isNotSaved(admin.call('keys.revoke', { id: key.id }))
  await isNotSaved(admin.call('tenants.set', { tenant: 'team', credits: 1 }))
  await isNotSaved(admin.call('tenants.set', { tenant: 'new' }))
  await isNotSaved(admin.call('credits.grant', { tenant: 'team', tokens: 5 }))
  await isNotSaved(admin.call('credits.reset', { tenant: 'team' }))
  assert.deepEqual(await admin.call('keys.list', {}), before.keys)
  assert.deepEqual(await admin.call('tenants.show', { tenant: 'team' }), before.tenant)
  for (let sent = 0; sent < 5; sent += 1) assert.equal(await ask(), 200)
  await rig.gateway.access.flush()
  const told = JSON.stringify(await admin.call('status', {}))
  for (const file of ['keys.json', 'tenants.json', 'credits.json', 'usage.jsonl']) {
    assert.ok(told.includes(file), `status names ${file}: ${told}`)
  }
  assert.equal(rig.log.filter(({ event }) => event === 'state.trouble').length, 1)

  mend()
  await admin.call('keys.create', { tenant: 'team' })
  await admin.call('tenants.set', { tenant: 'team', weight: 2 })
  await rig.quiet()
  await rig.gateway.access.flush()
  const { credits, usage } = rig.gateway.access
  const { used } = credits.state({ tenant: 'team', account: undefined })
  const [total] = await usage.totals('tenant', 0)
  assert.ok(total)
  assert.deepEqual(
    [total.requests, total.prompt_tokens + total.output_tokens],
    [6, used],
    'what was used while the disk was full is on it now, once',
  )
  await until(async () => (await admin.call('health', {})).healthy, {
    timeoutMs: 10_000,
    what: 'the trouble to be over',
  })
})
