// What stands where a backup reads: files that grow meanwhile, what is no file, and how they are
// left behind.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openPromise } from 'yauzl'
import { openSources } from '../../../src/gateway/state/backup-sources.ts'
import { judged, writeBackup } from '../../../src/gateway/state/backup.ts'
import { MAX_DOCUMENT_BYTES, newTally } from '../../../src/gateway/state/tally.ts'
import { needsTool } from '../../support/needs.ts'
import { FACTS, stateFolder } from '../../support/state-folder.ts'
import type { StateFolder } from '../../support/state-folder.ts'

let box: StateFolder
beforeEach(() => {
  box = stateFolder()
  box.fill(1)
})
afterEach(() => box[Symbol.dispose]())

/** Files below the folder that this process has open. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const file = execFileSync('readlink', [`/proc/${process.pid}/fd/${fd}`], { encoding: 'utf8' })
      return file.startsWith(box.dir) ? [file] : []
    } catch {
      return [] // the one that read the folder
    }
  })
}

// Lines that come after the moment of the backup would be ahead of the documents in it.
test('of a file that grows it reads what was there at first', async () => {
  const file = box.fileOf('usage_file')
  const before = readFileSync(file, 'utf8')
  using sources = openSources(box.places)
  appendFileSync(file, '{"later":true}\n')
  const source = sources.all.find(({ role }) => role === 'usage_file')
  let text = ''
  for await (const chunk of source?.chunks() ?? []) text += Buffer.from(chunk).toString()
  assert.equal(text, before)
})

test('no file stays open, whether all could be opened or not', { skip: !isLinux() }, () => {
  openSources(box.places)[Symbol.dispose]()
  assert.deepEqual(openFiles(), [])
  rmSync(box.fileOf('usage_file'))
  mkdirSync(box.fileOf('usage_file'))
  assert.throws(() => openSources(box.places), /usage\.jsonl: it is no file/)
  assert.deepEqual(openFiles(), [])
})

// The backup of every night would have waited for somebody who writes to it.
test('a pipe in the place of a file is told at once', (t) => {
  if (!needsTool(t, 'mkfifo')) return
  const file = box.fileOf('keys_file')
  rmSync(file)
  execFileSync('mkfifo', [file])
  const module = pathToFileURL(
    path.join(import.meta.dirname, '../../../src/gateway/state/backup-sources.js'),
  ).href
  const script = `import { openSources } from ${JSON.stringify(module)}; openSources(${JSON.stringify(box.places)})`
  const { stderr, signal } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { encoding: 'utf8', timeout: 20_000 },
  )
  assert.equal(signal, null)
  assert.match(stderr, /keys\.json: it is no file/)
})

test('what is unpacked by hand is for its owner only', async () => {
  const { file } = await box.backUp()
  const zip = await openPromise(file)
  const modes = new Set<number>()
  for await (const { externalFileAttributes } of zip.eachEntry()) {
    modes.add((externalFileAttributes >>> 16) & 0o777)
  }
  assert.deepEqual([...modes], [0o600])
})

test('an interrupted one leaves nothing', async () => {
  const file = path.join(box.folder, 'interrupted.zip')
  const signal = AbortSignal.abort()
  const made = writeBackup({ places: box.places, ...FACTS, signal }, { file })
  await assert.rejects(made, { name: 'AbortError' })
  const left = readdirSync(box.folder).filter((name) => name.startsWith('interrupted'))
  assert.deepEqual(left, [])
})

test('a document that no gateway reads is told, and what stands beside a file is judged by nobody', () => {
  const tally = { ...newTally(), size: MAX_DOCUMENT_BYTES + 1 }
  const large = judged({ name: 'state/keys.json', role: 'keys_file' }, tally)
  assert.match(large.problem ?? '', /it is larger than \d+ bytes/)
  const newer = { ...newTally(), size: 15, text: '{"version":99}\n' }
  const role = 'placement_history_file'
  const name = 'state/placement-history.jsonl'
  assert.match(judged({ name, role }, newer).problem ?? '', /newer ogw/)
  assert.equal(judged({ name: `${name}.broken`, role }, newer).problem, null)
})

function isLinux(): boolean {
  return process.platform === 'linux'
}
