import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { guardRulesOf } from '../../../src/gateway/access/guard-rules.ts'
import { Config } from '../../../src/gateway/config/schema.ts'

const rulesOf = (text: object, loopback = true) => guardRulesOf(Config.parse(text), loopback)

test('Host is checked on a loopback listener that needs no key', () => {
  assert.equal(rulesOf({}).checkHost, true)
  assert.equal(rulesOf({ auth: { mode: 'open' } }).checkHost, true)
  assert.equal(rulesOf({ auth: { mode: 'keys' } }).checkHost, false)
  assert.equal(rulesOf({ auth: { mode: 'open' } }, false).checkHost, false)
})

test('hosts and origins come from the config, addresses from the machine', () => {
  const rules = rulesOf({
    auth: { allowed_hosts: ['AI.example.com'] },
    cors: { origins: ['https://app.example'] },
  })
  assert.ok(rules.allowedHosts.has('ai.example.com'))
  assert.ok(rules.origins.exact.has('https://app.example'))
  const [own] = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  assert.equal(rules.isOwnAddress(own?.address ?? 'none'), own !== undefined)
  assert.equal(rules.isOwnAddress('203.0.113.9'), false)
})
