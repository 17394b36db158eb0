import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { identityOf } from '../../../src/gateway/access/identity.ts'
import { NOBODY } from '../../../src/gateway/access/visitor.ts'
import type { Visitor } from '../../../src/gateway/access/visitor.ts'

const NOW = Date.UTC(2026, 0, 1)
const SECRET = 'shared-with-open-webui'

function identify(headers: IncomingHttpHeaders, user?: string, who: Partial<Visitor> = {}) {
  const rules = { jwtSecret: SECRET, now: NOW }
  return identityOf(headers, { user }, { ...NOBODY, ...who }, rules)
}

test('the user field names the actor, then the session, then the key, then nobody', () => {
  const headers = { 'x-claude-code-session-id': 'abc' }
  assert.deepEqual(identify(headers, 'anna'), {
    tenant: 'default',
    actor: 'anna',
    account: undefined,
    session: 'abc',
    background: false,
    warnings: [],
  })
  assert.equal(identify(headers).actor, 'abc')
  assert.equal(identify(headers, '  ').actor, 'abc')
  assert.equal(identify({}, undefined, { keyId: 'k1' }).actor, 'k1')
  assert.equal(identify({}).actor, 'anonymous')
})

// Whoever could name the account that is charged could spend that of another, or none at all.
test('the user field and sessions decide about order alone, never about who is charged', () => {
  const headers = { 'session-id': 's' }
  assert.equal(identify(headers, 'anna', { keyId: 'k1' }).account, 'k1')
  assert.equal(identify(headers, 'anna').account, undefined)
})

test('session headers of Claude Code, Codex and Open WebUI', () => {
  for (const name of ['session-id', 'session_id', 'x-openwebui-chat-id']) {
    assert.equal(identify({ [name]: 's1' }).session, 's1', name)
  }
})

test('user headers of Open WebUI count only from whom they are believed', () => {
  const headers = { 'x-openwebui-user-id': 'root', 'x-openwebui-user-email': 'root@example.com' }
  assert.equal(identify(headers).actor, 'anonymous')
  const trusted = identify(headers, 'anna', { trustsHeaders: true })
  assert.deepEqual([trusted.actor, trusted.account], ['root', 'root'])
})

function jwt(claims: object, { secret = SECRET, alg = 'HS256' } = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const exp = NOW / 1000 + 300
const TOKENS: [token: string, actor: string, warning: RegExp | undefined][] = [
  [jwt({ sub: 'u1', iss: 'open-webui', exp }), 'u1', undefined],
  [jwt({ sub: 'u1', exp: NOW / 1000 - 60 }), 'anonymous', /has expired/],
  [jwt({ sub: 'u1', exp }, { secret: 'another' }), 'anonymous', /wrong signature/],
  [jwt({ sub: 'u1', exp }, { alg: 'none' }), 'anonymous', /HS256/],
  [`${jwt({ sub: 'u1', exp }).split('.').slice(0, 2).join('.')}.`, 'anonymous', /wrong signature/],
  [jwt({ exp }), 'anonymous', /sub/],
  [jwt({ sub: 'u1' }), 'anonymous', /exp/],
  ['x', 'anonymous', /no JWT/],
  ['a.b.c.d', 'anonymous', /no JWT/],
]

test('a signed identity is believed from anyone, a broken one from nobody, and that is said', () => {
  for (const [token, actor, warning] of TOKENS) {
    const found = identify({ 'x-openwebui-user-jwt': token }, 'anna')
    assert.equal(found.actor, actor, token)
    assert.equal(found.account, actor === 'anonymous' ? undefined : actor)
    if (warning === undefined) assert.deepEqual(found.warnings, [])
    else assert.match(found.warnings[0] ?? '', warning)
  }
})

test('a task of Open WebUI is work that nobody waits for', () => {
  assert.equal(identify({ 'x-openwebui-task': 'title_generation' }).background, true)
  assert.equal(identify({ 'x-openwebui-task': '' }).background, false)
})

test('ids are bounded', () => {
  assert.equal(identify({ 'session-id': 'x'.repeat(5000) }).session?.length, 200)
})
