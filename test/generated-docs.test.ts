import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { PAGES, ROOT } from './support/write-docs.ts'

for (const [file, make] of Object.entries(PAGES)) {
  test(`${file} is current; npm run docs writes it`, async () => {
    assert.equal(readFileSync(path.join(ROOT, file), 'utf8'), await make())
  })
}
