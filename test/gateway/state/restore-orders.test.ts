// Restores that meet one another, a clock that was set back, a disk that is too small.

import assert from 'node:assert/strict'
import {
  chownSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { openBackup } from '../../../src/gateway/state/backup-verify.ts'
import { JOURNAL_NAME, finishRestore } from '../../../src/gateway/state/restore-journal.ts'
import type { Journal } from '../../../src/gateway/state/restore-journal.ts'
import { planRestore } from '../../../src/gateway/state/restore-plan.ts'
import { restore } from '../../../src/gateway/state/restore.ts'
import { watchedDisk } from '../../support/faulty-disk.ts'
import { FACTS, restoreFile, stateFolder } from '../../support/state-folder.ts'
import type { StateFolder } from '../../support/state-folder.ts'

let box: StateFolder
let file: string
beforeEach(async () => {
  box = stateFolder()
  box.fill(1)
  file = (await box.backUp()).file
  box.fill(2)
})
afterEach(() => box[Symbol.dispose]())

const undos = (): string[] => readdirSync(box.dir).filter((name) => name.startsWith('before-'))

function lockOf(pid: number): string {
  return `${JSON.stringify({ pid, host: hostname(), begin: null })}\n`
}

// The first backup of what was before would have been removed as that of a restore that failed.
test('two restores at the same moment of a clock that was set back: each can be undone', async () => {
  const before = box.content()
  const first = await restoreFile(box.places, file, { withConfig: true })
  const bytes = readFileSync(first.undo)
  box.fill(3)
  const second = await restoreFile(box.places, file, { withConfig: true })
  assert.notEqual(second.undo, first.undo)
  assert.deepEqual(readFileSync(first.undo), bytes)
  await restoreFile(box.places, first.undo, { withConfig: true })
  const { 'audit.jsonl': _grown, ...state } = box.content()
  const { 'audit.jsonl': _old, ...wanted } = before
  assert.deepEqual(state, wanted)
})

// Both took the lock of a killed process for theirs: the one that lost it must not go on.
test('a restore whose lock another has taken stops before it changes anything', async () => {
  const before = box.content()
  const lock = path.join(box.dir, 'restore.lock')
  const taken = lockOf(process.ppid)
  const disk = watchedDisk(() => writeFileSync(lock, taken))
  await assert.rejects(restoreFile(box.places, file, { disk }), /a restore is under way/)
  assert.equal(readFileSync(lock, 'utf8'), taken, 'the lock of the other stays')
  rmSync(lock)
  assert.deepEqual(box.content(), before)
  assert.deepEqual(undos(), [])
})

test('a backup that unpacks to more than the disk holds is told before anything is written', async () => {
  const before = box.content()
  await using backup = await openBackup(file)
  const changes = (await planRestore(backup, box.places, { withConfig: true })).map((change) => ({
    ...change,
    entry: change.entry === null ? null : { ...change.entry, size: 2 ** 52 },
  }))
  const calls: string[] = []
  const request = { backup, places: box.places, changes, actor: 'anna@cli', ...FACTS }
  const restored = restore({
    ...request,
    disk: watchedDisk((call) => void calls.push(call)),
    assertStopped: () => Promise.resolve(),
  })
  await assert.rejects(
    restored,
    /there is no room for .* in .*: it needs \d+ bytes, and \d+ are free/,
  )
  assert.deepEqual(calls, [])
  assert.deepEqual(box.content(), before)
})

// The question whether a gateway runs may take seconds, and Ctrl+C comes while it is asked.
test('an interrupt at the last moment before the decision changes nothing', async () => {
  const before = box.content()
  await using backup = await openBackup(file)
  const changes = await planRestore(backup, box.places, { withConfig: true })
  const interrupted = new AbortController()
  const restored = restore({
    backup,
    places: box.places,
    changes,
    actor: 'anna@cli',
    ...FACTS,
    assertStopped: () => Promise.resolve(interrupted.abort()),
    signal: interrupted.signal,
  })
  await assert.rejects(restored, { name: 'AbortError' })
  assert.deepEqual(box.content(), before)
  assert.deepEqual(undos(), [])
})

// What was done since the backup was made stays in the record, also where the backup has no record.
test('a backup without an audit log removes none', async () => {
  box.fill(1)
  rmSync(box.fileOf('audit_file'))
  const without = (await box.backUp('without.zip')).file
  box.fill(2)
  const lines = readFileSync(box.fileOf('audit_file'), 'utf8')
  await restoreFile(box.places, without)
  const after = readFileSync(box.fileOf('audit_file'), 'utf8')
  assert.ok(after.startsWith(lines))
  assert.match(after, /backup\.restore/)
})

// Root begins a restore and is killed: the gateway has to read what is left to do.
test('the journal can be read by the gateway, and stands after what it names', async () => {
  const calls: string[] = []
  let mode = 0
  const disk = watchedDisk((call) => {
    const journal = statSync(path.join(box.dir, JOURNAL_NAME), { throwIfNoEntry: false })
    mode ||= journal?.mode ?? 0
    calls.push(call)
  })
  await restoreFile(box.places, file, { withConfig: true, disk })
  assert.equal(mode & 0o777, 0o644)
  const before = calls.slice(0, calls.lastIndexOf('create'))
  const count = (wanted: string): number => before.filter((call) => call === wanted).length
  assert.ok(count('create') > 5)
  assert.equal(count('syncFolder'), count('create'), 'a power cut leaves no journal of lost files')
})

// Whoever owns the folder could have root append to any file of the machine.
test('the line about the restore is written through no link', async () => {
  const precious = path.join(box.folder, 'passwd')
  writeFileSync(precious, 'root\n')
  const audit = box.fileOf('audit_file')
  rmSync(audit)
  symlinkSync(precious, audit)
  const left: Journal = {
    version: 1,
    at: '2026-05-01T12:00:00Z',
    actor: 'anna@cli',
    backup: file,
    undo: 'undo.zip',
    steps: [],
    audit: { file: audit, line: '{}\n' },
  }
  writeFileSync(path.join(box.dir, JOURNAL_NAME), JSON.stringify(left))
  const finished = await finishRestore(box.dir)
  assert.match(finished?.warnings.join() ?? '', /audit log .* does not tell of this restore/)
  assert.equal(readFileSync(precious, 'utf8'), 'root\n')
})

test('an audit log that a restore makes belongs to the owner of the folder', async (t) => {
  if (process.getuid?.() !== 0) {
    t.skip('only root can give a file away')
    return
  }
  rmSync(box.fileOf('audit_file'))
  const without = (await box.backUp('without.zip')).file
  chownSync(box.dir, 4321, 4321)
  await restoreFile(box.places, without)
  const { uid, gid, mode } = statSync(box.fileOf('audit_file'))
  assert.deepEqual([uid, gid, mode & 0o777], [4321, 4321, 0o600])
})

test('half a backup that a killed restore left at another time goes with the next one', async () => {
  const half = path.join(box.dir, 'before-restore-20260401T120000000Z.zip.tmp')
  writeFileSync(half, 'PK')
  await restoreFile(box.places, file)
  assert.ok(!existsSync(half))
})

// A start waits for a restore. That one ends, another begins, is decided and killed: what is left to
// do is in the second journal, and the first would find none of its files.
test('the start does what the newest journal says, not the one that it found first', async () => {
  const target = path.join(box.dir, 'tenants.json')
  const journalOf = (backup: string): Journal => ({
    version: 1,
    at: '2026-05-01T12:00:00Z',
    actor: 'anna@cli',
    backup,
    undo: 'undo.zip',
    steps: [{ target: backup === 'first.zip' ? file : target, staged: null }],
    audit: null,
  })
  const journal = path.join(box.dir, JOURNAL_NAME)
  const lock = path.join(box.dir, 'restore.lock')
  writeFileSync(journal, JSON.stringify(journalOf('first.zip')))
  writeFileSync(lock, lockOf(process.ppid))
  const finishing = finishRestore(box.dir)
  writeFileSync(journal, JSON.stringify(journalOf('second.zip')))
  rmSync(lock)
  assert.equal((await finishing)?.backup, 'second.zip')
  assert.ok(existsSync(file))
  assert.ok(!existsSync(target))
  assert.ok(!existsSync(journal))
})
