import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityOf } from '../../../src/gateway/access/identity.ts'

const user = undefined

test('the user field names the actor, then the session, then nobody', () => {
  const headers = { 'x-claude-code-session-id': 'abc' }
  assert.deepEqual(identityOf(headers, { user: 'anna' }), {
    tenant: 'default',
    actor: 'anna',
    session: 'abc',
  })
  assert.equal(identityOf(headers, { user }).actor, 'abc')
  assert.equal(identityOf(headers, { user: '  ' }).actor, 'abc')
  assert.deepEqual(identityOf({}, { user }), {
    tenant: 'default',
    actor: 'anonymous',
    session: undefined,
  })
})

test('session headers of Claude Code, Codex and Open WebUI', () => {
  for (const name of ['session-id', 'session_id', 'x-openwebui-chat-id']) {
    assert.equal(identityOf({ [name]: 's1' }, { user }).session, 's1', name)
  }
})

// Nobody vouches for them: on an open listener anyone could write them.
test('user headers of Open WebUI are not believed', () => {
  const headers = { 'x-openwebui-user-id': 'root', 'x-openwebui-user-email': 'root@example.com' }
  assert.equal(identityOf(headers, { user }).actor, 'anonymous')
})

test('ids are bounded', () => {
  assert.equal(identityOf({ 'session-id': 'x'.repeat(5000) }, { user }).session?.length, 200)
})
