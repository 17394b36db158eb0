import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isLoopback,
  readListenAddress,
  readWorkerAddress,
} from '../../../src/gateway/config/address.ts'
import { durationMs, durationText } from '../../../src/gateway/config/fields.ts'

const DURATIONS: [text: string, ms: number | undefined][] = [
  ['250ms', 250],
  ['10s', 10_000],
  ['1.5s', 1500],
  ['10m', 600_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  ['0s', 0],
  ['10', undefined],
  ['', undefined],
  ['s', undefined],
  ['-1s', undefined],
  ['10 s', undefined],
  ['10S', undefined],
  ['1h30m', undefined],
  ['1e3s', undefined],
]

test('durations', () => {
  for (const [text, ms] of DURATIONS) assert.equal(durationMs(text), ms, text)
})

test('durations are written back in the largest unit that fits', () => {
  const cases: [number, string][] = [
    [0, '0s'],
    [250, '250ms'],
    [1500, '1500ms'],
    [90_000, '90s'],
    [60_000, '1m'],
    [86_400_000, '1d'],
  ]
  for (const [ms, text] of cases) assert.equal(durationText(ms), text)
})

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`

// What people paste into a worker's url, and where it must lead.
const ADDRESSES: [text: string, url: string, authorization?: string][] = [
  ['http://w1:1/ollama', 'http://w1:1/ollama'],
  ['http://w1:1/ollama/', 'http://w1:1/ollama'],
  ['http://w1:1//a///b//', 'http://w1:1/a/b'],
  ['http://u:p%40ss@w1:1', 'http://w1:1', basic('u:p@ss')],
  ['http://u@w1:1', 'http://w1:1', basic('u:')],
  ['http://ü:ß@w1:1', 'http://w1:1', basic('ü:ß')],
  ['u:p@w1', 'http://w1:11434', basic('u:p')],
  ['w1:1', 'http://w1:1'],
  ['w1', 'http://w1:11434'],
  ['w1/ollama', 'http://w1:11434/ollama'],
  ['[::1]:1', 'http://[::1]:1'],
  ['[::1]', 'http://[::1]:11434'],
  ['localhost:11434', 'http://localhost:11434'],
  ['http://w1', 'http://w1'],
  ['https://w1', 'https://w1'],
  ['w1:80', 'http://w1'],
  ['HTTP://W1:1', 'http://w1:1'],
  ['http://w1:1/v1', 'http://w1:1/v1'],
]

test('worker addresses', () => {
  for (const [text, url, authorization] of ADDRESSES) {
    assert.deepEqual(readWorkerAddress(text), { ok: true, url, authorization }, text)
  }
})

const BAD_ADDRESSES: [text: string, why: RegExp][] = [
  ['', /not an address/],
  ['http://', /not an address/],
  ['http://w 1', /not an address/],
  ['http:\\\\w1', /not an address/],
  ['http://w1:99999', /not an address/],
  ['::1', /not an address/],
  ['http://w1:0', /port 0/],
  ['ftp://w1', /only http/],
  ['unix:///run/x', /only http/],
  ['http:w1', /only http/],
  ['http://w1?x=1', /no query/],
  ['http://w1#x', /no query/],
  ['http://u:%zz@w1', /percent-encoded/],
]

test('bad worker addresses say what is wrong', () => {
  for (const [text, why] of BAD_ADDRESSES) {
    const read = readWorkerAddress(text)
    assert.ok(!read.ok && why.test(read.why), `${text}: ${JSON.stringify(read)}`)
  }
})

test('listen addresses', () => {
  const cases: [string, { host: string; port: number } | undefined][] = [
    ['127.0.0.1:11435', { host: '127.0.0.1', port: 11435 }],
    ['[::1]:0', { host: '::1', port: 0 }],
    ['localhost:1', { host: 'localhost', port: 1 }],
    ['::1:1', undefined],
    [':1', undefined],
    ['11435', undefined],
    ['127.0.0.1', undefined],
    ['127.0.0.1:70000', undefined],
    ['http://127.0.0.1:1', undefined],
  ]
  for (const [text, address] of cases) assert.deepEqual(readListenAddress(text), address, text)
})

test('only this machine reaches a loopback address', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'LocalHost']) {
    assert.ok(isLoopback(host), host)
  }
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'box', '127.example.org', '1127.0.0.1']) {
    assert.ok(!isLoopback(host), host)
  }
})
