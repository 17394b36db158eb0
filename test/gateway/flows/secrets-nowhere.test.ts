// B130: what is secret in a request is nowhere once it is over, whichever way it came in and
// whatever became of it.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { test } from 'node:test'
import { publicKeyOfLine } from '../../../src/gateway/access/credentials.ts'
import { AdminClient } from '../../../src/gateway/contract/client.ts'
import { socketTransport } from '../../../src/gateway/contract/transport.ts'
import { KEY_DRAFT } from '../../support/key-drafts.ts'
import { send } from '../../support/raw-client.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { sshKey } from '../../support/ssh-key.ts'

const PROMPT = 'CANARY-PROMPT'
const WRONG = 'ogw_CANARY-WRONG-KEY'

/** One way to bring a key, good or bad. */
interface Way {
  prefix?: string
  query?: string
  headers?: Record<string, string>
}

/** Every place in which clients put keys, in every spelling that a server might not expect. */
function waysOf(key: string): Way[] {
  const encoded = Buffer.from(key).toString('hex').replaceAll(/../g, '%$&')
  return [
    { headers: { authorization: `Bearer ${key}` } },
    { headers: { authorization: `bearer   ${key}  ` } },
    { headers: { authorization: `Bearer${key}` } },
    { headers: { authorization: key } },
    { headers: { authorization: `Basic ${Buffer.from(`ogw:${key}`).toString('base64')}` } },
    { headers: { authorization: `Bearer ${key} ${key}` } },
    { headers: { authorization: `Bearer ${key.padEnd(4000, 'x')}` } },
    { headers: { 'x-api-key': key } },
    { headers: { 'x-api-key': ` ${key}, ${key}` } },
    { headers: { 'api-key': key, 'x-goog-api-key': key, 'x-auth-token': key } },
    { headers: { cookie: `token=${key}`, 'proxy-authorization': `Bearer ${key}` } },
    { headers: { 'x-openwebui-user-jwt': `a.${key}.c`, traceparent: key, 'x-request-id': key } },
    { query: `?key=${key}` },
    { query: `?api_key=${key}&token=${key}` },
    { prefix: `/k/${key}` },
    { prefix: `/k/${encoded}` },
    { prefix: `//k//${key}/` },
    { prefix: `/K/${key}` },
    { prefix: `/k/${key}/k/${key}` },
    { prefix: `/key/${key}` },
    { prefix: `/k/${key}%` },
    { prefix: `/v1/k/${key}` },
  ]
}

const ROUTES = [
  '/api/chat',
  '/v1/chat/completions',
  '/v1/messages',
  '/api/pull',
  '/nothing',
  '/v1/v1/messages',
]

async function askIn(rig: Rig, { prefix = '', query = '', headers = {} }: Way): Promise<void> {
  for (const route of ROUTES) {
    const body = { model: 'm:1b', max_tokens: 3, messages: [{ role: 'user', content: PROMPT }] }
    const answer = await rig.post(`${prefix}${route}${query}`, body, { headers })
    await answer.arrayBuffer()
  }
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) {
    const answer = await fetch(`${rig.url}${prefix}/api/tags${query}`, { method, headers })
    await answer.arrayBuffer()
  }
}

/** What is no HTTP, or is too large, is answered before anybody knows whose it is. */
async function askBrokenly(rig: Rig, key: string): Promise<void> {
  const target = `/k/${key}/api/chat`
  const lines: [method: string, path: string][] = [
    ['GET', `${target} ${key}`],
    ['NOTHING', target],
    ['POST', `http://user:${key}@elsewhere${target}`],
    ['CONNECT', `${key}:80`],
  ]
  for (const [method, line] of lines) {
    const headers = [['authorization', `Bearer ${key}`]] as const
    const { answer, socket } = send(rig.port, { method, path: line, headers, body: null })
    socket.setTimeout(2_000, () => socket.destroy())
    await answer.catch(() => {}) // some get none, and that is answer enough
  }
  await new Promise<void>((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'x-big': key.repeat(20_000) }
    const big = request(`${rig.url}${target}`, { headers }, (res) => res.resume())
    big.on('error', () => {}).on('close', resolve)
    big.end()
  })
  for (const body of [`{"model":"m:1b","messages":"${PROMPT}`, `${PROMPT} ${key}`, `["${key}"]`]) {
    const headers = { authorization: `Bearer ${key}` }
    await (await fetch(`${rig.url}/api/chat`, { method: 'POST', body, headers })).arrayBuffer()
  }
}

/** All that is written down, and all that an operator can ask for. */
async function everythingOf(rig: Rig): Promise<Map<string, string>> {
  await rig.quiet()
  await rig.gateway.access.flush()
  const { storage, admin } = rig.gateway.parts.config()
  const dir = storage.dir ?? ''
  const client = new AdminClient({ transport: socketTransport([admin.socket ?? '']), actor: 't' })
  const places = new Map<string, string>()
  const put = (place: string, value: unknown): void =>
    void places.set(place, typeof value === 'string' ? value : JSON.stringify(value))
  put('usage', await client.call('usage', { by: 'actor' }))
  put('log', rig.log)
  put('metrics', await (await fetch(`${rig.opsUrl}/metrics`)).text())
  for (const name of ['status', 'snapshot', 'requests.list', 'events', 'audit.list'] as const) {
    put(name, await client.call(name, {}))
  }
  put('keys', await client.call('keys.list', {}))
  put('credits', await client.call('credits.show', {}))
  put('tenants', await client.call('tenants.list', {}))
  put('tenant', await client.call('tenants.use', { tenant: 'team' }))
  for (const { id } of await client.call('requests.list', {})) {
    put(`request ${id}`, await client.call('requests.show', { id }).catch(String))
  }
  for (const file of readdirSync(dir)) put(file, readFileSync(path.join(dir, file), 'utf8'))
  return places
}

test('no key and no prompt is left in logs, state, audit, metrics or what operators read', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 2 }],
    workerConfig: { headers: { authorization: 'Bearer CANARY-OF-THE-WORKER' } },
    config: {
      auth: { mode: 'keys', openwebui_jwt_secret: 'CANARY-JWT-SECRET' },
      audit: { requests: true },
      tenants: [{ name: 'team', credits: 1_000_000 }],
    },
  })
  const { keys } = rig.gateway.access
  const make = async (draft: Partial<typeof KEY_DRAFT>) =>
    await keys.create({ ...KEY_DRAFT, tenant: 'team', ...draft })
  const [good, manager, expired, revoked] = [
    await make({}),
    await make({ scope: 'manage' }),
    await make({ expires_ms: 1 }),
    await make({}),
  ]
  await keys.revoke(revoked.stored.id)
  const secrets = [good, manager, expired, revoked].map(({ key }) => key)
  for (const key of [...secrets, WRONG]) for (const way of waysOf(key)) await askIn(rig, way)
  for (const key of [good.key, WRONG]) await askBrokenly(rig, key)

  const ssh = sshKey()
  const ts = Math.floor(Date.now() / 1000)
  const { authorization } = ssh.signed(`POST,/api/chat?ts=${ts}`)
  const signed: Way = { headers: { authorization }, query: `?ts=${ts}` }
  await askIn(rig, signed) // by a key that nobody knows
  await keys.addEd25519(publicKeyOfLine(ssh.line) ?? '', { ...KEY_DRAFT, tenant: 'team' })
  await askIn(rig, signed)
  secrets.push(authorization.split(':')[1] ?? '')

  const places = await everythingOf(rig)
  for (const file of ['usage.jsonl', 'audit.jsonl', 'keys.json', 'credits.json']) {
    assert.ok((places.get(file) ?? '').length > 50, `${file} was looked at`)
  }
  const spelled = secrets.flatMap((key) => [key, key.slice(4), key.slice(4, 24)])
  for (const [place, text] of places) {
    for (const secret of ['CANARY', Buffer.from(`ogw:${WRONG}`).toString('base64'), ...spelled]) {
      const at = text.indexOf(secret)
      assert.equal(at, -1, `${place}: …${text.slice(Math.max(0, at - 120), at + 60)}…`)
    }
  }
})
