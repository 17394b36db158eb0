import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Gatekeeper } from '../../../src/gateway/access/gatekeeper.ts'
import type { Asking, RouteNeed } from '../../../src/gateway/access/gatekeeper.ts'
import { publicKeyOfLine } from '../../../src/gateway/access/credentials.ts'
import { mayUse } from '../../../src/gateway/access/visitor.ts'
import { needsKeys } from '../../../src/gateway/config/needs-keys.ts'
import { Config } from '../../../src/gateway/config/schema.ts'
import { GatewayError } from '../../../src/gateway/errors.ts'
import { KeysState } from '../../../src/gateway/state/keys-state.ts'
import { TenantsState } from '../../../src/gateway/state/tenants-state.ts'
import { KEY_DRAFT } from '../../support/key-drafts.ts'
import { sshKey } from '../../support/ssh-key.ts'

interface Desk {
  keys: KeysState
  file: string
  told: number[]
  clock: { wall: number; monotonic: number }
  /** What a reload of the config, or an operator's edit of a tenant, leaves. */
  reload(written: object): void
  ask(asking: Partial<Asking>, need?: RouteNeed): string
  visitor(asking: Partial<Asking>): ReturnType<Gatekeeper['admit']>
}

/** `k1 infer` for who comes in, the status for who does not. */
function startDesk(written: object = {}): Desk {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-keys-'))
  const file = path.join(folder, 'keys.json')
  const times = { wall: Date.UTC(2026, 5, 1), monotonic: 0 }
  const clock = {
    now: () => times.wall,
    mono: () => times.monotonic,
    after: () => ({ cancel: () => {} }),
  }
  const tenants = new TenantsState(path.join(folder, 'tenants.json'))
  const effective = (text: object) => {
    const parsed = Config.parse(text)
    return { ...parsed, tenants: tenants.effective(parsed.tenants) }
  }
  let config = effective(written)
  const keys = new KeysState(file, { clock })
  const told: number[] = []
  const gatekeeper = new Gatekeeper({
    clock,
    keys,
    config: () => config,
    needsKeys: () => needsKeys(config),
    onRefused: (count) => void told.push(count),
  })
  const whole = (asking: Partial<Asking>): Asking => ({
    headers: {},
    method: 'POST',
    path: '/api/chat',
    query: '',
    pathKey: undefined,
    ...asking,
  })
  return {
    keys,
    file,
    told,
    clock: times,
    reload: (next) => void (config = effective(next)),
    visitor: (asking) => gatekeeper.admit(whole(asking), { scope: 'read' }),
    ask(asking, need = { scope: 'infer' }) {
      try {
        const { keyId, scope } = gatekeeper.admit(whole(asking), need)
        return `${keyId ?? 'nobody'} ${scope}`
      } catch (error) {
        assert.ok(error instanceof GatewayError)
        return String(error.status)
      }
    },
  }
}

const bearer = (key: string): Partial<Asking> => ({ headers: { authorization: `Bearer ${key}` } })
const KEYS_NEEDED = { auth: { mode: 'keys' } }

test('a key is taken as Bearer, x-api-key and in the path; the first known one counts', async () => {
  const desk = startDesk(KEYS_NEEDED)
  const { key, stored } = await desk.keys.create(KEY_DRAFT)
  const other = await desk.keys.create({ ...KEY_DRAFT, scope: 'manage' })
  const me = `${stored.id} infer`
  assert.match(key, /^ogw_[\w-]{43}$/)
  assert.equal(desk.ask(bearer(key)), me)
  assert.equal(desk.ask({ headers: { authorization: `bearer  ${key} ` } }), me)
  assert.equal(desk.ask({ headers: { 'x-api-key': key } }), me)
  assert.equal(desk.ask({ pathKey: key }), me)
  const both = { headers: { authorization: `Bearer ${key}`, 'x-api-key': other.key } }
  assert.equal(desk.ask(both), me, 'Bearer wins')
  assert.equal(desk.ask({ ...bearer('ollama'), pathKey: key }), me, 'the dummy of ollama launch')
  assert.equal(desk.ask({ ...bearer('sk-dummy'), pathKey: key }), me)
})

test('where keys are needed, none and wrong ones are 401', async () => {
  const desk = startDesk(KEYS_NEEDED)
  const { key } = await desk.keys.create(KEY_DRAFT)
  const wrong = [{}, bearer('ollama'), bearer(key.slice(0, -1)), bearer(`${key}x`), bearer('')]
  const odd = [
    { pathKey: '__proto__' },
    { pathKey: 'x'.repeat(100_000) },
    bearer('x'.repeat(60_000)),
  ]
  for (const asking of [...wrong, ...odd]) assert.equal(desk.ask(asking), '401')
})

const MODES: [config: object, anonymous: string][] = [
  [{}, 'nobody infer'],
  [{ listen: '0.0.0.0:1' }, '401'],
  [{ listen: '[::1]:1' }, 'nobody infer'],
  [{ listen: '0.0.0.0:1', auth: { mode: 'open' } }, 'nobody infer'],
  [{ auth: { mode: 'keys' } }, '401'],
]

test('auth.mode auto, keys and open', async () => {
  for (const [config, anonymous] of MODES) {
    const desk = startDesk(config)
    const { key, stored } = await desk.keys.create({ ...KEY_DRAFT, scope: 'manage' })
    assert.equal(desk.ask({}), anonymous, JSON.stringify(config))
    assert.equal(desk.ask(bearer('sk-dummy')), anonymous)
    assert.equal(desk.ask(bearer(key)), `${stored.id} manage`, 'a known key identifies')
    assert.equal(desk.ask({}, { scope: 'manage' }), anonymous === '401' ? '401' : '403')
  }
})

test('each scope holds those before it; less is 403', async () => {
  const desk = startDesk(KEYS_NEEDED)
  const order = ['read', 'infer', 'manage'] as const
  for (const [has, scope] of order.entries()) {
    const { key, stored } = await desk.keys.create({ ...KEY_DRAFT, scope })
    for (const [needs, needed] of order.entries()) {
      const expected = needs <= has ? `${stored.id} ${scope}` : '403'
      assert.equal(desk.ask(bearer(key), { scope: needed }), expected)
    }
  }
})

test('what auth.anonymous names is open without a key', () => {
  const desk = startDesk({ auth: { mode: 'keys', anonymous: ['tags'] } })
  assert.equal(desk.ask({}, { scope: 'read', anonymous: 'tags' }), 'nobody read')
  assert.equal(desk.ask(bearer('wrong'), { scope: 'read', anonymous: 'tags' }), 'nobody read')
  assert.equal(desk.ask({}, { scope: 'read', anonymous: 'version' }), '401')
  assert.equal(desk.ask({}, { scope: 'read' }), '401')
})

test('expired and revoked keys, and keys whose tenant is gone, let nobody in', async () => {
  const desk = startDesk(KEYS_NEEDED)
  const expires_ms = desk.clock.wall + 1000
  const { key } = await desk.keys.create({ ...KEY_DRAFT, expires_ms })
  const gone = await desk.keys.create({ ...KEY_DRAFT, tenant: 'gone' })
  const revoked = await desk.keys.create(KEY_DRAFT)
  assert.ok((await desk.keys.revoke(revoked.stored.id))?.changed)
  assert.equal((await desk.keys.revoke(revoked.stored.id))?.changed, false)
  assert.equal(await desk.keys.revoke('k0'), undefined)
  assert.notEqual(desk.ask(bearer(key)), '401')
  desk.clock.wall = expires_ms
  for (const text of [key, gone.key, revoked.key]) assert.equal(desk.ask(bearer(text)), '401')
})

test('the file holds hashes, is for its owner alone, and is read again', async () => {
  const desk = startDesk(KEYS_NEEDED)
  const { key, stored } = await desk.keys.create(KEY_DRAFT)
  const text = readFileSync(desk.file, 'utf8')
  assert.ok(!text.includes(key) && !text.includes(key.slice(4)))
  assert.equal(statSync(desk.file).mode & 0o777, 0o600)
  const clock = { now: () => 0, mono: () => 0, after: () => ({ cancel: () => {} }) }
  assert.deepEqual(new KeysState(desk.file, { clock }).list(), [stored])
})

test("the ollama CLI's signature: of this request, by a known key, of now", async () => {
  const desk = startDesk(KEYS_NEEDED)
  const ssh = sshKey()
  const stranger = sshKey()
  const publicKey = publicKeyOfLine(ssh.line)
  assert.ok(publicKey !== undefined)
  const stored = await desk.keys.addEd25519(publicKey, KEY_DRAFT)
  const now = Math.floor(desk.clock.wall / 1000)
  const good = ssh.signed(`POST,/api/chat?ts=${now}`)
  const query = `ts=${now}`
  assert.equal(desk.ask({ headers: good, query }), `${stored.id} infer`)
  const bad: Partial<Asking>[] = [
    { headers: good, query: '' },
    { headers: good, query: `ts=${now + 1}` },
    { headers: good, query, path: '/api/pull' },
    { headers: good, query, method: 'DELETE' },
    { headers: stranger.signed(`POST,/api/chat?ts=${now}`), query },
    { headers: ssh.signed(`POST,/api/chat?ts=${now - 301}`), query: `ts=${now - 301}` },
    { headers: ssh.signed(`POST,/api/chat?ts=${now + 301}`), query: `ts=${now + 301}` },
    { headers: { authorization: `${good.authorization}A` }, query },
  ]
  for (const asking of bad) assert.equal(desk.ask(asking), '401', JSON.stringify(asking))
  const old = now - 299
  assert.equal(
    desk.ask({ headers: ssh.signed(`POST,/api/chat?ts=${old}`), query: `ts=${old}` }),
    `${stored.id} infer`,
  )
})

// OLLAMA_AUTH=1 signs every request, also one to http://gateway/k/KEY.
test('a signature that counts for nothing does not stand in the way of a key', async () => {
  const desk = startDesk(KEYS_NEEDED)
  const { key, stored } = await desk.keys.create(KEY_DRAFT)
  const now = Math.floor(desk.clock.wall / 1000)
  const headers = sshKey().signed(`POST,/api/chat?ts=${now}`)
  const query = `ts=${now}`
  assert.equal(desk.ask({ headers, query, pathKey: key }), `${stored.id} infer`)
  assert.equal(desk.ask({ headers: { ...headers, 'x-api-key': key }, query }), `${stored.id} infer`)
  assert.equal(desk.ask({ headers, query, pathKey: 'wrong' }), '401')
})

test('a file that is no ed25519 public key is none', () => {
  for (const line of ['', 'ssh-rsa AAAA', 'ssh-ed25519', 'ssh-ed25519 AAAA me']) {
    assert.equal(publicKeyOfLine(line), undefined)
  }
})

// Whoever tries keys must not be able to fill a disk with log lines, or slow the others down.
test('a thousand wrong keys are told once', () => {
  const desk = startDesk(KEYS_NEEDED)
  for (let i = 0; i < 1000; i += 1) assert.equal(desk.ask(bearer(`sk-wrong-${i}`)), '401')
  assert.deepEqual(desk.told, [1])
  desk.clock.monotonic = 10_000
  desk.ask(bearer('once-more'))
  assert.deepEqual(desk.told, [1, 1000])
})

test('with 10,000 keys the last one is found as quickly as the first', async () => {
  const desk = startDesk(KEYS_NEEDED)
  const { key, stored } = await desk.keys.create(KEY_DRAFT)
  const keys = Array.from({ length: 10_000 }, (_, i) => ({
    ...stored,
    id: `k${i}`,
    verifier: `v${i}`,
  }))
  const many = startDesk(KEYS_NEEDED)
  const find = many.keys.find.bind(many.keys)
  Object.defineProperty(many.keys, 'list', { value: () => [...keys, stored] })
  assert.equal(find('secret', stored.verifier)?.id, stored.id)
  const from = performance.now()
  for (let i = 0; i < 10_000; i += 1) assert.equal(many.ask(bearer(key)), `${stored.id} infer`)
  const perKeyMs = (performance.now() - from) / 10_000
  assert.ok(perKeyMs < 1, `${perKeyMs} ms a key`)
})

test("the lists of the tenant and of the key both bind, by placement's rules", async () => {
  const tenants = [
    { name: 'team', allowed_models: ['qwen3:*', 'gemma4:9b'], denied_models: ['qwen3:32b'] },
  ]
  const desk = startDesk({ ...KEYS_NEEDED, tenants })
  const { key } = await desk.keys.create({
    ...KEY_DRAFT,
    tenant: 'team',
    denied_models: ['qwen3:4*'],
  })
  const { models } = desk.visitor(bearer(key))
  const cases: [model: string, allowed: boolean][] = [
    ['qwen3:8b', true],
    ['gemma4:9b', true],
    ['qwen3:32b', false],
    ['qwen3:4b', false],
    ['gemma4:27b', false],
    ['constructor', false],
    ['__proto__:latest', false],
  ]
  for (const [model, allowed] of cases) assert.equal(mayUse(models, model), allowed, model)
  const free = await desk.keys.create(KEY_DRAFT)
  assert.equal(desk.visitor(bearer(free.key)).models, undefined)
})

// A key that has been seen is remembered with its rules: a tenant that loses a model loses it at once.
test('a changed tenant changes what its known keys and everyone without a key may use', async () => {
  const desk = startDesk({ tenants: [{ name: 'default' }, { name: 'team' }] })
  const { key } = await desk.keys.create({ ...KEY_DRAFT, tenant: 'team' })
  assert.equal(mayUse(desk.visitor(bearer(key)).models, 'm:1b'), true)
  assert.equal(mayUse(desk.visitor({}).models, 'm:1b'), true)
  const denied_models = ['m:*']
  desk.reload({
    tenants: [
      { name: 'default', denied_models },
      { name: 'team', denied_models },
    ],
  })
  assert.equal(mayUse(desk.visitor(bearer(key)).models, 'm:1b'), false)
  assert.equal(mayUse(desk.visitor({}).models, 'm:1b'), false)
})
