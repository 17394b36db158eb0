// Keys and tenants from the command line, against the real gateway: what is made lets in at once,
// what is revoked does not, and no trace of a key stays behind.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { run } from '../support/run-cli.ts'
import { until } from '../support/until.ts'

const messages = [{ role: 'user', content: 'hi' }]

async function ogw(rig: Rig, ...argv: string[]) {
  return run(argv, { socket: rig.gateway.parts.config().admin.socket ?? '' })
}

async function asked(rig: Rig, key: string, model = 'm:1b'): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const answer = await rig.post('/api/chat', { model, messages, stream: false }, { headers })
  await answer.text()
  return answer.status
}

test('a key is made, used, listed and revoked', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b', 'n:1b'] }],
    config: { auth: { mode: 'keys' } },
  })
  const made = await ogw(rig, 'keys', 'create', '--tenant', 'default', '--models', 'm:*', '--json')
  assert.equal(made.code, 0, made.stderr)
  const { id, key, ...rest } = JSON.parse(made.stdout) as { id: string; key: string }
  assert.deepEqual(rest, { tenant: 'default', scope: 'infer', expires_at: null })
  assert.deepEqual([await asked(rig, key), await asked(rig, key, 'n:1b')], [200, 403])
  await rig.quiet()
  const used = await ogw(rig, 'usage', '--by', 'actor', '--json')
  const [row] = JSON.parse(used.stdout) as {
    name: string
    requests: number
    output_tokens: number
  }[]
  assert.deepEqual([row?.name, row?.requests], [`default/${id}`, 1])
  assert.ok((row?.output_tokens ?? 0) > 0)
  assert.equal((await ogw(rig, 'usage', '--since', '91d')).code, 2)

  const plain = await ogw(rig, 'keys', 'create', '--tenant', 'default', '--expires', '30d')
  assert.match(plain.stdout, /^ogw_[\w-]{43}\n$/, 'the key alone, for a script')
  assert.match(plain.stderr, /not shown again/)

  const list = await ogw(rig, 'keys')
  assert.match(list.stdout, new RegExp(`${id}\\s+default\\s+infer\\s+active`))
  assert.ok(!list.stdout.includes(key))

  assert.equal((await ogw(rig, 'keys', 'revoke', id)).code, 0)
  assert.equal(await asked(rig, key), 401)
  assert.equal((await ogw(rig, 'keys', 'revoke', 'k0')).code, 5)
  assert.equal((await ogw(rig, 'keys', 'create', '--tenant', 'nobody')).code, 5)
  assert.equal((await ogw(rig, 'keys', 'create', '--tenant', 'default', '--expires', 'x')).code, 2)

  const config = rig.gateway.parts.config()
  const audit = `${config.storage.dir}/audit.jsonl`
  const text = await until(
    () => {
      const written = readFileSync(audit, 'utf8')
      return written.includes('keys.revoke') ? written : undefined
    },
    { timeoutMs: 10_000, what: 'the audit of the revocation' },
  )
  assert.ok(text.includes('keys.create') && text.includes(id))
  for (const secret of [key, plain.stdout.trim()]) assert.ok(!text.includes(secret))
})

test('explain --key says what that key would get', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b', 'n:1b'], tokens: 500, tokenMs: 20 }],
    config: { tenants: [{ name: 'team', max_in_flight: 1 }] },
  })
  const made = await ogw(rig, 'keys', 'create', '--tenant', 'team', '--models', 'm:*', '--json')
  const { id, key } = JSON.parse(made.stdout) as { id: string; key: string }
  const explain = (model: string, key: string) => ogw(rig, 'explain', model, '--key', key)

  assert.match((await explain('m:1b', id)).stdout, /^m:1b would run on node-1/)
  const other = await explain('n:1b', id)
  assert.equal(other.code, 0)
  assert.match(other.stdout, /^n:1b would be refused: 403 .*not allowed for you by the model list/)
  assert.match(other.stdout, /node-1/, 'its workers are shown all the same')

  const leave = new AbortController()
  const headers = { authorization: `Bearer ${key}` }
  const running = await rig.post(
    '/api/chat',
    { model: 'm:1b', messages },
    { headers, signal: leave.signal },
  )
  assert.match((await explain('m:1b', id)).stdout, /would wait for a slot/, 'max_in_flight')
  leave.abort()
  await running.text().catch(() => {}) // its client has left

  const none = await explain('m:1b', 'k0')
  assert.equal(none.code, 5)
  assert.match(none.stderr, /no key with the id "k0"/)
  await ogw(rig, 'keys', 'revoke', id)
  assert.match((await explain('m:1b', id)).stdout, /would be refused: 401 .*is revoked/)
})

test('a tenant is made and set at run time, over the config', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'] }],
    config: { tenants: [{ name: 'team', weight: 2 }] },
  })
  const set = await ogw(rig, 'tenants', 'set', 'TEAM', '--max-in-flight', '3', '--json')
  assert.equal(set.code, 0, set.stderr)
  const row = JSON.parse(set.stdout) as Record<string, unknown>
  assert.deepEqual([row['name'], row['weight'], row['max_in_flight']], ['team', 2, 3])
  assert.deepEqual(row['set_at_run_time'], ['max_in_flight'])
  assert.equal((await ogw(rig, 'tenants', 'set', 'new', '--dry-run')).code, 0)
  assert.equal((await ogw(rig, 'tenants', 'show', 'new')).code, 5)
  assert.equal((await ogw(rig, 'tenants', 'set', 'new', '--priority', 'background')).code, 0)
  assert.equal((await ogw(rig, 'tenants', 'set', 'team', '--weight', '-1')).code, 2)
  assert.equal((await ogw(rig, 'tenants', 'set', 'a b')).code, 2)
  const list = await ogw(rig, 'tenants')
  assert.match(list.stdout, /team\s+0\s+2\s+3\s+∞/)
  const { tenants } = rig.gateway.parts.config()
  assert.deepEqual(
    tenants.map(({ name }) => name),
    ['team', 'default', 'new'],
  )
})
