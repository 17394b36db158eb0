import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compileOrigins,
  guardRequest,
  preflightHeaders,
} from '../../../src/gateway/access/http-guard.ts'
import type { GuardRules } from '../../../src/gateway/access/http-guard.ts'

const rules: GuardRules = {
  checkHost: true,
  allowedHosts: new Set(['ai.example.com', 'odd.example.com:8080']),
  hostname: 'box',
  isOwnAddress: (ip) => ip === '203.0.113.7',
  origins: compileOrigins(['https://app.example', 'https://*.corp.example', 'moz-extension://*']),
}

const hosts: [host: string | undefined, allowed: boolean][] = [
  ['localhost', true],
  ['LOCALHOST:11435', true],
  ['127.0.0.1:11435', true],
  ['127.9.9.9', true],
  ['0.0.0.0:11435', true],
  ['[::1]:11435', true],
  ['[::]', true],
  ['::1', true],
  ['10.1.2.3:1', true],
  ['172.16.0.1', true],
  ['172.32.0.1', false],
  ['192.168.178.20:11435', true],
  ['[fd00::1]:11435', true],
  ['[2001:db8::1]', false],
  ['203.0.113.7:11435', true],
  ['203.0.113.8:11435', false],
  ['100.115.97.90', false],
  ['box:11435', true],
  ['BOX', true],
  ['mac.local', true],
  ['x.localhost:1', true],
  ['host.docker.internal:11435', true],
  ['local', false],
  ['evil.example', false],
  ['evil.example:11435', false],
  ['localhost.evil.example', false],
  ['127.0.0.1.evil.example', false],
  ['ai.example.com', true],
  ['AI.example.com:443', true],
  ['odd.example.com:8080', true],
  ['odd.example.com', false],
  ['', true],
  [undefined, true],
]

test('Host on an open loopback listener, by Ollama’s rules and auth.allowed_hosts', () => {
  for (const [host, allowed] of hosts) {
    assert.equal(guardRequest(rules, host, undefined).allowed, allowed, host ?? 'none')
    assert.equal(
      guardRequest({ ...rules, checkHost: false }, host, undefined).allowed,
      true,
      host ?? 'none',
    )
  }
})

const origins: [origin: string, allowed: boolean][] = [
  ['http://localhost', true],
  ['http://localhost:3000', true],
  ['https://localhost:3000', true],
  ['http://127.0.0.1:5173', true],
  ['http://0.0.0.0', true],
  ['app://obsidian.md', true],
  ['file://', true],
  ['tauri://localhost', true],
  ['vscode-webview://1a2b', true],
  ['vscode-file://vscode-app', true],
  ['https://app.example', true],
  ['https://a.corp.example', true],
  ['https://corp.example', false],
  ['moz-extension://1a2b', true],
  ['chrome-extension://abc', false],
  ['http://app.example', false],
  ['https://app.example.evil', false],
  ['https://example.com', false],
  ['http://localhost.evil.example', false],
  ['null', false],
]

test('Origin, by Ollama’s defaults and cors.origins', () => {
  for (const [origin, allowed] of origins) {
    const verdict = guardRequest(rules, 'localhost:11435', origin)
    assert.deepEqual(
      verdict,
      allowed ? { allowed: true, origin } : { allowed: false, because: 'origin' },
      origin,
    )
  }
})

test('a page of the gateway’s own address is no other origin', () => {
  for (const scheme of ['http', 'https']) {
    assert.deepEqual(guardRequest(rules, 'ai.example.com', `${scheme}://ai.example.com`), {
      allowed: true,
      origin: undefined,
    })
  }
})

// DNS rebinding: the page and the Host agree, because the page's own name leads to loopback.
test('an origin that equals a foreign Host is refused for its Host', () => {
  assert.deepEqual(guardRequest(rules, 'evil.example:11435', 'http://evil.example:11435'), {
    allowed: false,
    because: 'host',
  })
})

test('`*` opens every origin', () => {
  const open = { ...rules, origins: compileOrigins(['*']) }
  assert.equal(guardRequest(open, 'localhost', 'https://example.com').allowed, true)
  assert.equal(guardRequest(open, 'localhost', 'null').allowed, true)
})

test('a preflight echoes the headers asked for', () => {
  const requested = 'authorization, content-type, x-api-key, anthropic-version, baggage'
  const headers = preflightHeaders('http://localhost:3000', requested)
  assert.deepEqual(headers, {
    'access-control-allow-origin': 'http://localhost:3000',
    'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS',
    'access-control-allow-headers': requested,
    'access-control-max-age': '43200',
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  })
  const bare = preflightHeaders('http://localhost:3000', undefined)
  assert.match(bare['access-control-allow-headers'] ?? '', /Authorization,Content-Type/)
})
