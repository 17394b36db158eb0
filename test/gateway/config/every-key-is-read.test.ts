// Every key of the config does something: it is read outside of the config room, or it is refused
// as not built yet. A key counts as read where one file names both it and its section.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { knownKeys } from '../../../src/gateway/config/known-keys.ts'
import { NOT_BUILT_YET } from '../../../src/gateway/config/not-built-yet.ts'
import { ROOT } from '../../support/write-docs.ts'

/** `url` is written and `urls` is read: the config room turns the one into the other. */
const WRITTEN_ONLY = ['workers[].url']

const refused = new Set(NOT_BUILT_YET.map((row) => row.path))
const leaves = knownKeys().filter(({ leaf }) => leaf)
const sources = globSync('src/**/*.{ts,tsx}', { cwd: ROOT })
  .filter((file) => !file.startsWith(path.join('src', 'gateway', 'config')))
  .map((file) => new Set(readFileSync(path.join(ROOT, file), 'utf8').match(/\w+/g)))

/** A name that no other key has is read where it stands; others only beside their section. */
function isRead(key: string): boolean {
  const [section = '', name = ''] = key.replaceAll('[]', '').split('.').slice(-2)
  const namesakes = leaves.filter(({ path: other }) => other.endsWith(`.${name}`))
  const words = namesakes.length === 1 ? [name] : [section, name].filter((word) => word !== '')
  return sources.some((source) => words.every((word) => source.has(word)))
}

function isRefused(key: string): boolean {
  return [...refused].some((row) => key === row || key.startsWith(`${row}[`))
}

test('every key is read somewhere, or refused as not built yet', () => {
  const unread = leaves
    .map(({ path: key }) => key)
    .filter((key) => !WRITTEN_ONLY.includes(key) && !isRefused(key) && !isRead(key))
  assert.deepEqual(unread, [], 'read these keys, or give them a row in not-built-yet.ts')
})

test('every row of not-built-yet names a key of the schema', () => {
  const known = new Set(knownKeys().map(({ path: key }) => key))
  const strays = NOT_BUILT_YET.filter((row) => !known.has(row.path))
  assert.deepEqual(strays, [])
})

test('every key has a description, and every duration and size a unit', () => {
  for (const { path: key, node } of knownKeys()) {
    assert.ok((node.description ?? '').length > 10, `${key} has no description`)
    const needsUnit = /(?:timeout|interval|_bytes|tokens|_wait|grace|budget|backoff)$/.test(key)
    assert.ok(!needsUnit || node.unit !== undefined, `${key} has no unit`)
  }
})
