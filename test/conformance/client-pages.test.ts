// The pages about clients are copied and pasted: the config that they name has to load, and the
// addresses that they name have to be answered.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { loadConfig } from '../../src/gateway/config/load.ts'
import { startStage } from './bench-of-clients.ts'

const PAGES = globSync('docs/clients/*.md').toSorted()
const CONFIG = /`("(?:aliases|auth|keep_alive|num_ctx)": \{[^`]*\})`/g
const ADDRESS = /http:\/\/(?:127\.0\.0\.1|GATEWAY):11435([\w/.-]*)/g

suite('pages about clients', () => {
  test('there is one for each client, and the first links to all of them', () => {
    const first = readFileSync('docs/clients/README.md', 'utf8')
    assert.ok(PAGES.length > 15)
    for (const page of PAGES) {
      const name = page.split('/').at(-1) ?? ''
      assert.ok(name === 'README.md' || first.includes(`](${name})`), name)
    }
  })

  test('the config that they name loads', () => {
    const named = PAGES.flatMap((page) => [...readFileSync(page, 'utf8').matchAll(CONFIG)])
    assert.ok(named.length >= 8)
    for (const [, fields = ''] of named) {
      const text = `{ "workers": [{ "name": "a", "url": "http://127.0.0.1:1" }], ${fields} }`
      const loaded = loadConfig(text, {})
      assert.ok(loaded.ok, `${fields} ${JSON.stringify(loaded)}`)
    }
  })

  test('a base address that they name is one that its client can put a path behind', async () => {
    await using rig = await startStage()
    const bases = new Set(
      PAGES.flatMap((page) => [...readFileSync(page, 'utf8').matchAll(ADDRESS)]).map(
        ([, base = '']) => base,
      ),
    )
    assert.deepEqual([...bases].toSorted(), ['', '/api', '/k/KEY', '/v1'])
    for (const base of bases) {
      const path = base === '/v1' ? '/models' : base === '/api' ? '/tags' : '/api/tags'
      const answer = await fetch(`${rig.url}${base}${path}`)
      assert.equal(answer.status, 200, `${base}${path} ${await answer.text()}`)
    }
  })
})
