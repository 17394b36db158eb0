import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { chmodSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { z } from 'zod'
import { StartError } from '../../../src/gateway/start-error.ts'
import type { Disk } from '../../../src/gateway/state/disk.ts'
import { Document, NotSaved } from '../../../src/gateway/state/document.ts'
import { CALLS_OF_A_WRITE, diskError, watchedDisk } from '../../support/faulty-disk.ts'
import type { DiskCall } from '../../support/faulty-disk.ts'

interface Doc {
  version: 1
  value: string
}

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ogw-doc-'))
  file = path.join(dir, 'doc.json')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const schema = z.strictObject({ version: z.literal(1), value: z.string() })

function open(disk?: Disk): Document<Doc> {
  return new Document({
    file,
    schema,
    empty: { version: 1, value: '' },
    remedy: 'move it away to start empty',
    ...(disk !== undefined && { disk }),
  })
}

const doc = (value: string): Doc => ({ version: 1, value })
const onDisk = (): unknown => JSON.parse(readFileSync(file, 'utf8'))

test('what was saved is there after a restart, for its owner only', async () => {
  const names = [
    'qwen2.5:7b',
    'gpu.lan',
    '__proto__:x',
    'constructor',
    'a "quoted" \\ name',
    '模型',
  ]
  await open().save(doc(names.join('\n')))
  assert.equal(open().value.value, names.join('\n'))
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(dir), ['doc.json'])
})

// Placement rules are edited by hand and kept in git, on Windows too.
test('what an editor makes of a document is read: byte order mark, line ends, order', () => {
  writeFileSync(file, '\uFEFF{\r\n  "value": "edited",\r\n  "version": 1\r\n}\r\n')
  assert.deepEqual(open().value, doc('edited'))
})

test('a symbolic link to the document stays one', async () => {
  const target = path.join(dir, 'kept-in-git.json')
  writeFileSync(target, JSON.stringify(doc('old')))
  symlinkSync(target, file)
  await open().save(doc('new'))
  assert.ok(lstatSync(file).isSymbolicLink())
  assert.deepEqual(JSON.parse(readFileSync(target, 'utf8')), doc('new'))
})

// B152: a folder that cannot be written, a full disk: the edit is refused, and nothing changes.
describe('a disk call that fails', () => {
  for (const call of CALLS_OF_A_WRITE.slice(0, -1)) {
    // Nobody may act on a rule that a restart would forget: memory keeps what the disk keeps.
    test(`${call}: the edit is refused, disk and memory keep the old value`, async () => {
      let failing: DiskCall | undefined
      const document = open(
        watchedDisk((called) => {
          if (called === failing) throw diskError('EIO')
        }),
      )
      await document.save(doc('old'))
      failing = call
      await assert.rejects(document.save(doc('new')), NotSaved)
      assert.equal(document.value.value, 'old')
      assert.deepEqual(onDisk(), doc('old'))
      assert.match(document.error ?? '', /EIO/)
      assert.deepEqual(readdirSync(dir), ['doc.json'], 'no half-written file is left')

      failing = undefined
      await document.save(doc('newer'))
      assert.equal(document.error, undefined)
      assert.deepEqual(onDisk(), doc('newer'))
    })
  }

  // The new document is on disk by then: to say that nothing changed would be a lie.
  test('syncFolder: saved, and the doubt is shown', async () => {
    const document = open(
      watchedDisk((called) => {
        if (called === 'syncFolder') throw diskError('EIO')
      }),
    )
    await document.save(doc('new'))
    assert.equal(document.value.value, 'new')
    assert.deepEqual(onDisk(), doc('new'))
    assert.match(document.error ?? '', /power cut/)
  })

  test('a folder that cannot be flushed at all is no fault', async () => {
    const document = open(
      watchedDisk((called) => {
        if (called === 'syncFolder') throw diskError('EINVAL')
      }),
    )
    await document.save(doc('new'))
    assert.equal(document.error, undefined)
  })
})

test('saves that overlap are written in their order', async () => {
  const document = open()
  await Promise.all(['a', 'b', 'c'].map((value) => document.save(doc(value))))
  assert.deepEqual(onDisk(), doc('c'))
  assert.equal(document.value.value, 'c')
})

const CHILD = path.join(import.meta.dirname, '../../support/save-and-die.js')

describe('kill -9', () => {
  for (const call of CALLS_OF_A_WRITE) {
    test(`before ${call}: the old or the new document, and the next start works`, async () => {
      await open().save(doc('old'))
      const child = spawnSync(process.execPath, [CHILD, file, call, 'new'], { encoding: 'utf8' })
      assert.equal(child.signal, 'SIGKILL', child.stderr)
      const renamed = call === 'syncFolder'
      assert.deepEqual(onDisk(), doc(renamed ? 'new' : 'old'))

      const next = open()
      await next.save(doc('newer'))
      assert.deepEqual(onDisk(), doc('newer'))
      assert.deepEqual(readdirSync(dir), ['doc.json'], 'what the killed one left is gone')
    })
  }
})

describe('a broken file stops the start', () => {
  const broken: [string, string, RegExp][] = [
    ['half-written', '{"version": 1,\n "value": "x', /line 2/],
    ['empty', '', /it is empty/],
    ['of a wrong shape', '{"version": 1, "value": 7}', /value: .*string/],
    ['of a newer version', '{"version": 2, "value": "x"}', /version/],
    ['no object', '[]', /object/],
  ]
  for (const [name, text, place] of broken) {
    test(name, () => {
      writeFileSync(file, text)
      assert.throws(open, (error) => {
        assert.ok(error instanceof StartError)
        assert.equal(error.exitCode, 78)
        assert.ok(error.message.includes(file), error.message)
        assert.match(error.message, place)
        assert.match(error.message, /move it away to start empty/)
        return true
      })
      assert.equal(readFileSync(file, 'utf8'), text, 'it is left as it is')
    })
  }
})

// What is there but cannot be read is not the same as nothing.
test('a document that cannot be read stops the start', () => {
  mkdirSync(file)
  assert.throws(open, (error) => {
    assert.ok(error instanceof StartError)
    assert.equal(error.exitCode, 78)
    assert.match(error.message, /^cannot read .*doc\.json: /)
    return true
  })
})

// Root passes every permission check: only another user can show what a refusal looks like.
test('a folder without write permission: refused with the reason', (t) => {
  if (process.getuid?.() !== 0 || spawnSync('setpriv', ['--version']).status !== 0) {
    if (process.env['CI'] !== undefined) assert.fail('setpriv and root are needed in CI')
    t.skip('needs root and setpriv to become another user')
    return
  }
  writeFileSync(file, JSON.stringify(doc('old')))
  chmodSync(file, 0o644)
  chmodSync(dir, 0o555)
  const child = spawnSync(
    'setpriv',
    ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, CHILD, file, '', 'new'],
    { encoding: 'utf8' },
  )
  if (child.status === 127 || /EACCES.*node|MODULE_NOT_FOUND/.test(child.stderr)) {
    t.skip(`the other user cannot run node here: ${child.stderr.slice(0, 200)}`)
    return
  }
  assert.equal(child.status, 1, child.stderr)
  assert.match(child.stdout, /no right to it.*EACCES/)
  assert.deepEqual(onDisk(), doc('old'))
})

test('a full disk: refused with the reason, the old document stays', (t) => {
  const mount = path.join(dir, 'small')
  mkdirSync(mount)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', mount])
  if (mounted.status !== 0) {
    if (process.env['CI'] !== undefined) assert.fail(`mount failed: ${String(mounted.stderr)}`)
    t.skip(`cannot mount a small file system: ${String(mounted.stderr)}`)
    return
  }
  try {
    file = path.join(mount, 'doc.json')
    writeFileSync(file, JSON.stringify(doc('old')))
    const big = 'x'.repeat(100_000)
    const child = spawnSync(process.execPath, [CHILD, file, '', big], { encoding: 'utf8' })
    assert.equal(child.status, 1, child.stderr)
    assert.match(child.stdout, /the disk is full.*ENOSPC/)
    assert.deepEqual(onDisk(), doc('old'))
    assert.deepEqual(readdirSync(mount), ['doc.json'])
  } finally {
    spawnSync('umount', [mount])
  }
})
