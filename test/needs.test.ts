import assert from 'node:assert/strict'
import { afterEach, suite, test, type TestContext } from 'node:test'
import { needsTool } from './support/needs.ts'

// A skip nobody sees is a promise nobody checked: where CI is set a missing tool is a failure.
suite('a test that needs a tool', () => {
  const before = process.env['CI']
  afterEach(() => {
    if (before === undefined) delete process.env['CI']
    else process.env['CI'] = before
  })

  const skips: (string | undefined)[] = []
  const asked = { skip: (why?: string) => void skips.push(why) } as TestContext

  test('goes on where the tool works', () => {
    assert.equal(needsTool(asked, 'sh', ['-c', 'exit 0']), true)
    assert.deepEqual(skips, [])
  })

  test('is skipped with its reason where the tool is missing or fails', () => {
    delete process.env['CI']
    assert.equal(needsTool(asked, 'no-such-tool'), false)
    assert.equal(needsTool(asked, 'sh', ['-c', 'exit 1']), false)
    assert.deepEqual(skips, [
      'needs no-such-tool, which is not installed',
      'needs sh, and `sh -c exit 1` fails here',
    ])
  })

  test('fails where CI is set', () => {
    process.env['CI'] = 'true'
    assert.throws(() => needsTool(asked, 'no-such-tool'), /may not be skipped/)
  })
})
