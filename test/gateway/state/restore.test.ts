// A restore gives back what the backup holds, can be undone, and is whole or not at all whatever
// happens to the disk or the process on its way.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { AuditEntry } from '../../../src/gateway/contract/schema/gateway.ts'
import { StartError } from '../../../src/gateway/start-error.ts'
import { BackupError } from '../../../src/gateway/state/backup-error.ts'
import { openBackup } from '../../../src/gateway/state/backup-verify.ts'
import {
  JOURNAL_NAME,
  finishRestore,
  watchRestores,
} from '../../../src/gateway/state/restore-journal.ts'
import { keysImpact, planRestore } from '../../../src/gateway/state/restore-plan.ts'
import type { LockHolder } from '../../../src/gateway/state/restore-lock.ts'
import { STATE_ROLES } from '../../../src/gateway/state/state-files.ts'
import { diskError, watchedDisk } from '../../support/faulty-disk.ts'
import type { DiskCall } from '../../support/faulty-disk.ts'
import { restoreFile, stateFolder } from '../../support/state-folder.ts'
import type { StateFolder } from '../../support/state-folder.ts'
import { storedKey } from '../../support/state-sample.ts'

let box: StateFolder
let file: string
beforeEach(async () => {
  box = stateFolder()
  box.fill(1)
  file = (await box.backUp()).file
})
afterEach(() => box[Symbol.dispose]())

/** All but the audit log, to which a restore adds a line. */
function state(): Record<string, string> {
  // A killed process leaves its lock, which is in nobody's way.
  const { 'audit.jsonl': _audit, 'restore.lock': _lock, ...others } = box.content()
  return others
}

function lockText({ pid = 1, host = hostname(), begin = null }: Partial<LockHolder>): string {
  return `${JSON.stringify({ pid, host, begin })}\n`
}

const leftovers = (): string[] =>
  readdirSync(box.dir).filter(
    (name) => /\.(?:restore|tmp|lock)$/.test(name) || name === JOURNAL_NAME,
  )

const undos = (): string[] =>
  readdirSync(box.dir)
    .filter((name) => name.startsWith('before-restore-'))
    .toSorted()

describe('what it does', () => {
  test('state and config are those of the backup, and undoing it gives back every byte', async () => {
    const old = state()
    box.fill(2)
    writeFileSync(`${box.fileOf('placement_history_file')}.broken`, 'typed here\n')
    const before = state()
    const { undo } = await restoreFile(box.places, file, { withConfig: true })
    assert.deepEqual(state(), { ...old, 'placement-history.jsonl.broken': 'typed here\n' })
    assert.deepEqual(leftovers(), [])

    const now = new Date('2026-05-01T12:01:00Z')
    await restoreFile(box.places, undo, { withConfig: true, now })
    assert.deepEqual(state(), before)
  })

  test('without being asked for the config it leaves that alone', async () => {
    const config = path.join(box.folder, 'config.json')
    box.fill(2)
    const before = readFileSync(config)
    await restoreFile(box.places, file)
    assert.deepEqual(readFileSync(config), before)
  })

  test('a file that was not there is removed, and undoing brings it back', async () => {
    rmSync(box.fileOf('tenants_file'))
    const without = (await box.backUp('without.zip')).file
    box.fill(2)
    const before = state()
    const { undo } = await restoreFile(box.places, without)
    assert.ok(!existsSync(box.fileOf('tenants_file')))
    await restoreFile(box.places, undo, { now: new Date('2026-05-01T12:01:00Z') })
    assert.deepEqual(state(), before)
  })

  // What was done since the backup was done: the record of it must not go back with the state.
  test('the audit log goes on, with a line about the restore', async () => {
    box.fill(2)
    const { undo } = await restoreFile(box.places, file)
    const lines = readFileSync(box.fileOf('audit_file'), 'utf8').trimEnd().split('\n')
    const [before, restored] = lines.map((line) => AuditEntry.parse(JSON.parse(line)))
    assert.equal(before?.message, 'edit 2')
    assert.deepEqual([restored?.operation, restored?.actor], ['backup.restore', 'anna@cli'])
    assert.ok(restored?.message.includes(file) && restored.message.includes(undo))
  })

  test('on a new machine everything comes back, the audit log too', async () => {
    using other = stateFolder()
    rmSync(other.dir, { recursive: true })
    const { undo } = await restoreFile(other.places, file, { withConfig: true })
    const content = other.content()
    for (const [name, text] of Object.entries(box.content())) {
      assert.ok(content[name]?.startsWith(text), name)
    }
    assert.match(content['audit.jsonl'] ?? '', /backup\.restore/)
    assert.equal(statSync(other.dir).mode & 0o777, 0o700)
    for (const role of STATE_ROLES) assert.equal(statSync(other.fileOf(role)).mode & 0o777, 0o600)

    const now = new Date('2026-05-01T12:01:00Z')
    await restoreFile(other.places, undo, { withConfig: true, now })
    const left = readdirSync(other.dir).filter((name) => !name.startsWith('before-restore-'))
    assert.deepEqual(left, ['audit.jsonl'])
    assert.ok(!existsSync(path.join(other.folder, 'config.json')))
  })

  test('the last five backups of before are kept, and the one in use', async () => {
    box.fill(2)
    let first = ''
    for (let count = 0; count < 8; count += 1) {
      const now = new Date(Date.parse('2026-05-01T12:00:00Z') + count * 1_000)
      const { undo } = await restoreFile(box.places, count === 7 ? first : file, { now })
      if (count === 2) first = undo
    }
    assert.equal(undos().length, 6)
    assert.ok(existsSync(first))
  })

  // The clock was wrong when the others were made: the only way back went the moment it was made.
  test('the one just made stays, also where the clock was set back', async () => {
    for (const day of ['02', '03', '04', '05', '06', '07']) {
      writeFileSync(path.join(box.dir, `before-restore-203005${day}T120000000Z.zip`), '')
    }
    box.fill(2)
    const { undo } = await restoreFile(box.places, file)
    assert.ok(existsSync(undo))
    assert.equal(undos().length, 6)
  })

  test('what cannot be cleared away afterwards is told, and fails nothing', async () => {
    for (const day of ['02', '03', '04', '05', '06', '07']) {
      mkdirSync(path.join(box.dir, `before-restore-202605${day}T120000000Z.zip`))
    }
    box.fill(2)
    const { warnings } = await restoreFile(box.places, file)
    assert.match(warnings.join(), /^old backups in .*state could not be removed: /)
  })

  // It was a reason not to start, which took the gateway away for want of a line.
  test('an audit log that cannot be written is told, and fails nothing', async () => {
    const audit = { file: '/proc/none/audit.jsonl', line: '{}\n' }
    const facts = { version: 1, at: '', actor: '', backup: file, undo: 'u.zip' }
    const steps = [{ target: box.fileOf('tenants_file'), staged: null }]
    writeFileSync(path.join(box.dir, JOURNAL_NAME), JSON.stringify({ ...facts, steps, audit }))
    const finished = await finishRestore(box.dir)
    assert.match(finished?.warnings.join() ?? '', /audit log .* does not tell of this restore: /)
    assert.ok(!existsSync(box.fileOf('tenants_file')))
    assert.ok(!existsSync(path.join(box.dir, JOURNAL_NAME)))
  })

  test('a folder for the audit log is made, and half a line in it stays alone', async () => {
    box.fill(2)
    const audit = path.join(box.folder, 'log', 'audit.jsonl')
    const places = { ...box.places, state: { ...box.places.state, audit_file: audit } }
    rmSync(box.fileOf('audit_file'))
    const without = (await box.backUp('without.zip')).file
    box.fill(3)
    await restoreFile(places, without)
    assert.match(readFileSync(audit, 'utf8'), /^\{"at":.*"backup\.restore".*\}\n$/)

    writeFileSync(audit, '{"at":"20')
    await restoreFile(places, file, { now: new Date('2026-05-01T12:01:00Z') })
    assert.match(readFileSync(audit, 'utf8'), /^\{"at":"20\n\{.*"backup\.restore".*\}\n$/)
  })

  // A broken file is the very reason for many restores.
  test('present files that are broken are no hindrance, and are in the backup of before', async () => {
    const old = state()
    for (const role of STATE_ROLES) writeFileSync(box.fileOf(role), '\u0000 no JSON')
    const { undo } = await restoreFile(box.places, file)
    assert.deepEqual(state(), old)
    await using before = await openBackup(undo)
    assert.equal(before.text('keys_file'), '\u0000 no JSON')
  })

  test('a symbolic link to a state file stays one', async () => {
    const real = path.join(box.folder, 'kept-elsewhere.json')
    renameSync(box.fileOf('keys_file'), real)
    symlinkSync(real, box.fileOf('keys_file'))
    const old = readFileSync(real, 'utf8')
    writeFileSync(real, 'broken')
    await restoreFile(box.places, file)
    assert.ok(lstatSync(box.fileOf('keys_file')).isSymbolicLink())
    assert.equal(readFileSync(real, 'utf8'), old)
  })
})

// `sudo ogw backup restore` must leave files that the gateway's own user can read.
describe('run by root', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
  const GATEWAY = 4_321

  function give(): void {
    chownSync(box.dir, GATEWAY, GATEWAY)
    for (const role of STATE_ROLES) chownSync(box.fileOf(role), GATEWAY, GATEWAY)
  }

  test('owners and rights stay, also of files that are new', async () => {
    give()
    const config = path.join(box.folder, 'config.json')
    box.fill(2)
    chmodSync(config, 0o640)
    chownSync(config, 0, GATEWAY)
    rmSync(box.fileOf('keys_file'))
    rmSync(box.fileOf('audit_file'))
    await restoreFile(box.places, file, { withConfig: true })
    for (const name of readdirSync(box.dir)) {
      const { uid, gid, mode } = statSync(path.join(box.dir, name))
      assert.deepEqual([name, uid, gid], [name, GATEWAY, GATEWAY])
      assert.equal(mode & 0o077 & ~0o044, 0, name)
    }
    const { uid, gid, mode } = statSync(config)
    assert.deepEqual([uid, gid, mode & 0o777], [0, GATEWAY, 0o640])
  })

  // The owner of the folder could point the link at any file of the machine.
  test('a link to a file of somebody else is not followed', async () => {
    give()
    const precious = path.join(box.folder, 'shadow')
    writeFileSync(precious, 'root:…')
    rmSync(box.fileOf('keys_file'))
    symlinkSync(precious, box.fileOf('keys_file'))
    await assert.rejects(restoreFile(box.places, file), /is a link to .*shadow, which belongs to/)
    symlinkSync(precious, `${box.fileOf('workers_file')}.restore`)
    rmSync(box.fileOf('keys_file'))
    writeFileSync(box.fileOf('workers_file'), 'broken')
    const now = new Date('2026-05-01T12:01:00Z')
    await restoreFile(box.places, file, { now })
    assert.equal(readFileSync(precious, 'utf8'), 'root:…')
  })

  test('a journal that another user wrote is not obeyed', async () => {
    give()
    const journal = path.join(box.dir, JOURNAL_NAME)
    writeFileSync(journal, '{}')
    chownSync(journal, GATEWAY, GATEWAY)
    await assert.rejects(finishRestore(box.dir), /another user \(uid 4321\) began it/)
  })
})

describe('the plan', () => {
  test('says for each file what would happen to it', async () => {
    rmSync(box.fileOf('tenants_file'))
    const without = (await box.backUp('without.zip')).file
    box.fill(2)
    rmSync(box.fileOf('credits_file'))
    await using backup = await openBackup(without)
    const changes = await planRestore(backup, box.places, { withConfig: false })
    const said = Object.fromEntries(changes.map(({ role, change }) => [role, change]))
    assert.deepEqual(said, {
      config: 'keep',
      model_placement_file: 'replace',
      placement_history_file: 'replace',
      worker_performance_file: 'replace',
      workers_file: 'replace',
      keys_file: 'replace',
      credits_file: 'create',
      usage_file: 'replace',
      audit_file: 'keep',
      tenants_file: 'remove',
    })
    box.fill(1)
    const again = await planRestore(backup, box.places, { withConfig: true })
    assert.deepEqual(
      again.filter(({ change }) => change !== 'same').map(({ role }) => role),
      ['tenants_file'],
    )
  })

  // A key that leaked and was revoked must not come back to life without a word.
  test('names the keys that would let somebody in again, and those that no more would', async () => {
    const now = Date.parse('2026-05-01T12:00:00Z')
    const keys = [storedKey('k0000000001', '2026-05-02T12:00:00Z'), storedKey('k0000000002')]
    writeFileSync(box.fileOf('keys_file'), JSON.stringify({ version: 1, revision: 3, keys }))
    await using backup = await openBackup(file)
    assert.deepEqual(keysImpact(backup, box.places, now), {
      again: ['k0000000001'],
      gone: ['k0000000002'],
    })
  })
})

describe('a disk call that fails', () => {
  /** With the call that is told to fail; undefined once a restore needs fewer calls. */
  async function failAt(count: number): Promise<Error | 'tolerated' | undefined> {
    let left = count
    const disk = watchedDisk((call) => {
      left -= 1
      if (left === -1 && call !== 'remove') throw diskError('ENOSPC')
    })
    try {
      await restoreFile(box.places, file, { withConfig: true, disk })
      return left < -1 ? 'tolerated' : undefined
    } catch (error) {
      return error instanceof Error ? error : new Error('no error')
    }
  }

  test('before the decision nothing changes; after it the rest is done later', async () => {
    const old = state()
    box.fill(2)
    const before = state()
    let [early, late] = [0, 0]
    for (let count = 0; ; count += 1) {
      const error = await failAt(count)
      if (error === undefined) break
      if (error === 'tolerated') {
        assert.deepEqual(state(), old, `call ${count}`)
      } else if (!existsSync(path.join(box.dir, JOURNAL_NAME))) {
        early += 1
        assert.ok(error instanceof BackupError, error.message)
        assert.match(error.message, /the disk is full/)
        assert.deepEqual(state(), before, `call ${count}: ${error.message}`)
        assert.deepEqual(leftovers(), [], `call ${count}`)
      } else {
        late += 1
        assert.match(error.message, /decided but only partly done: the disk is full/)
        await finishRestore(box.dir)
        assert.deepEqual(state(), old, `call ${count}`)
      }
      for (const name of undos()) rmSync(path.join(box.dir, name))
      box.fill(2)
    }
    assert.ok(early > 30 && late > 9, `${early} calls before the decision, ${late} after`)
  })

  // Two operators in one night: both prepare the same files.
  test('a second restore at the same time is refused; a killed one is in nobody’s way', async () => {
    const old = state()
    box.fill(2)
    const lock = path.join(box.dir, 'restore.lock')
    const before = box.content()
    writeFileSync(lock, lockText({ pid: process.ppid }))
    await assert.rejects(restoreFile(box.places, file), /a restore is under way.*process \d+/)
    rmSync(lock)
    assert.deepEqual(box.content(), before)

    const { pid } = spawnSync(process.execPath, ['--version'])
    writeFileSync(lock, lockText({ pid }))
    await restoreFile(box.places, file, { withConfig: true })
    assert.deepEqual(state(), old)
    assert.ok(!existsSync(lock))
  })

  // Numbers of processes come again, after a reboot and in each container: a lock that is older than
  // the process of its number would have kept the gateway from starting until somebody removed it.
  const STALE: Readonly<Record<string, string>> = {
    'of a process whose number another has now': lockText({
      pid: process.ppid,
      begin: 'another boot 1',
    }),
    'of a process with the number of this one': lockText({
      pid: process.pid,
      begin: 'another boot 1',
    }),
    'of this very process where nobody says when that began': lockText({ pid: process.pid }),
    'that was never written to the end': '{"pid":',
    'that a power cut has emptied': '',
  }
  for (const [name, text] of Object.entries(STALE)) {
    test(`a lock ${name} is in nobody’s way`, async () => {
      const old = state()
      const lock = path.join(box.dir, 'restore.lock')
      const { all } = await callsOfARestore()
      killBefore(all - 3)
      writeFileSync(lock, text)
      assert.ok((await finishRestore(box.dir, 0)) !== undefined)
      assert.deepEqual(state(), old)

      box.fill(2)
      writeFileSync(lock, text)
      const now = new Date('2026-05-01T12:01:00Z')
      await restoreFile(box.places, file, { withConfig: true, now })
      assert.deepEqual(state(), old)
    })
  }

  // A container has another name at each start: the next gateway cannot ask who is gone.
  test('what a killed container has decided is done by the next start, after a while', async () => {
    const old = state()
    const { all } = await callsOfARestore()
    killBefore(all - 3)
    const lock = path.join(box.dir, 'restore.lock')
    writeFileSync(lock, lockText({ pid: 7, host: 'a-container' }))
    await assert.rejects(restoreFile(box.places, file), /process 7 on a-container\).*remove .*lock/)
    assert.ok((await finishRestore(box.dir, 100)) !== undefined)
    assert.deepEqual(state(), old)
    assert.ok(!existsSync(lock))
  })

  test('one that is at its end is waited for', async () => {
    const { all } = await callsOfARestore()
    killBefore(all - 3)
    const lock = path.join(box.dir, 'restore.lock')
    writeFileSync(lock, lockText({ pid: process.ppid }))
    const finishing = finishRestore(box.dir)
    rmSync(path.join(box.dir, JOURNAL_NAME))
    rmSync(lock)
    assert.equal((await finishing)?.backup, file)
  })

  test('one that was decided and killed meanwhile is not thrown away', async () => {
    const old = state()
    const { all } = await callsOfARestore()
    killBefore(all - 3)
    const now = new Date('2026-05-01T12:01:00Z')
    await assert.rejects(restoreFile(box.places, file, { now }), /another restore .*interrupted/)
    await finishRestore(box.dir)
    assert.deepEqual(state(), old)
  })

  test('a gateway does not finish a restore of a process that lives', async () => {
    const { all } = await callsOfARestore()
    killBefore(all - 3)
    writeFileSync(path.join(box.dir, 'restore.lock'), lockText({ pid: process.ppid }))
    await assert.rejects(finishRestore(box.dir, 100), (error) => {
      assert.ok(error instanceof StartError)
      assert.equal(error.exitCode, 1)
      assert.match(error.message, /restore is under way .*wait for its end/)
      return true
    })
  })

  test('a gateway that reads the state meanwhile is told, unless nothing came of the restore', async () => {
    box.fill(2)
    const restored = watchRestores(box.dir)
    assert.equal(restored(), false)
    let during = true
    const assertStopped = (): Promise<void> => {
      during = restored()
      return Promise.reject(new BackupError('refused', 'a gateway runs'))
    }
    await assert.rejects(restoreFile(box.places, file, { assertStopped }))
    assert.deepEqual([during, restored()], [false, false])
    assert.deepEqual(undos(), [])
    await restoreFile(box.places, file)
    assert.equal(restored(), true)
    assert.equal(watchRestores(box.dir)(), false)

    const lock = path.join(box.dir, 'restore.lock')
    writeFileSync(lock, lockText({ pid: process.ppid }))
    const preparing = watchRestores(box.dir)
    assert.equal(preparing(), false)
    rmSync(lock)
    assert.equal(preparing(), true)
    writeFileSync(path.join(box.dir, JOURNAL_NAME), '{}')
    assert.equal(watchRestores(box.dir)(), true)
  })

  test('a gateway that has started in the meantime: nothing changes', async () => {
    box.fill(2)
    const before = box.content()
    const assertStopped = (): Promise<void> =>
      Promise.reject(new BackupError('refused', 'a gateway runs'))
    await assert.rejects(restoreFile(box.places, file, { assertStopped }), /a gateway runs/)
    assert.deepEqual(box.content(), before)
  })
})

const CHILD = path.join(import.meta.dirname, '../../support/restore-and-die.js')

/** The disk calls of a restore that goes well, and the one that begins to write the journal. */
async function callsOfARestore(): Promise<{ all: number; journal: number }> {
  box.fill(2)
  const calls: DiskCall[] = []
  const disk = watchedDisk((call) => void calls.push(call))
  await restoreFile(box.places, file, { withConfig: true, disk })
  box.fill(2)
  clear()
  return { all: calls.length, journal: calls.lastIndexOf('create') }
}

function clear(): void {
  for (const name of [...undos(), ...leftovers()]) rmSync(path.join(box.dir, name))
}

/** Restores in a process that is killed before the call of that number. */
function killBefore(count: number): void {
  const args = [CHILD, box.folder, file, String(count)]
  const child = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.equal(child.signal, 'SIGKILL', child.stderr)
}

/** Before the decision all calls are alike: some of them do, all of them in the long form. */
const STRIDE = process.env['OGW_FAULTS'] === 'full' ? 1 : 9

// Whoever comes next finds all of the old state, or all of the new, and never some of each.
describe('kill -9 before each disk call', () => {
  test('until it is decided: nothing has changed, and the same restore works then', async () => {
    const old = state()
    const { journal } = await callsOfARestore()
    const before = state()
    for (let count = 0; count < journal + 5; count += STRIDE) {
      killBefore(count)
      assert.equal(await finishRestore(box.dir), undefined)
      const after = state()
      for (const name of leftovers()) delete after[name]
      assert.deepEqual(after, before, `killed before call ${count}`)
      for (const name of undos()) rmSync(path.join(box.dir, name))
    }
    // Also where the next one changes less: what is half written may be of gigabytes.
    const other = (await box.backUp('other.zip')).file
    rmSync(box.fileOf('tenants_file'))
    await restoreFile(box.places, other, { now: new Date('2026-05-02T12:00:00Z') })
    assert.deepEqual(leftovers(), [], 'what the killed ones left is gone')
    await restoreFile(box.places, file, { withConfig: true, now: new Date('2026-05-02T12:00:01Z') })
    assert.deepEqual(state(), old)
  })

  test('once it is decided: the next one does the rest, and tells it', async () => {
    const old = state()
    const { all, journal } = await callsOfARestore()
    // create, write, sync, close, rename: then the journal stands.
    for (let count = journal + 5; count < all; count += 1) {
      killBefore(count)
      const finished = await finishRestore(box.dir)
      assert.deepEqual(state(), old, `killed before call ${count}`)
      assert.match(readFileSync(box.fileOf('audit_file'), 'utf8'), /backup\.restore/)
      assert.deepEqual(leftovers(), finished === undefined ? ['restore.lock'] : [])
      // Behind the very last step there is nothing left to do.
      assert.equal(finished === undefined, count === all - 1)
      if (finished !== undefined) assert.ok(existsSync(finished.undo))
      clear()
      box.fill(2)
    }
  })
})

describe('a restore that cannot be finished', () => {
  test('says which, why, and how to go back', async () => {
    const { journal } = await callsOfARestore()
    killBefore(journal + 6)
    const staged = readdirSync(box.dir).find((name) => name.endsWith('.restore'))
    assert.ok(staged !== undefined)
    rmSync(path.join(box.dir, staged))
    await assert.rejects(finishRestore(box.dir), (error) => {
      assert.ok(error instanceof StartError)
      assert.equal(error.exitCode, 78)
      assert.match(error.message, /restore was interrupted and cannot be finished/)
      assert.match(error.message, /ogw backup restore \/\S+before-restore-\S+\.zip/)
      return true
    })
  })

  test('a journal that is broken stops the start', async () => {
    writeFileSync(path.join(box.dir, JOURNAL_NAME), '{"version":1')
    await assert.rejects(finishRestore(box.dir), /its journal cannot be read/)
    mkdirSync(path.join(box.folder, 'none'))
    assert.equal(await finishRestore(path.join(box.folder, 'none')), undefined)
  })
})
