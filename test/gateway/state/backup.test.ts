// What a backup holds, and that a damaged, forged or newer one is refused before anything is touched.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { ZipFile } from 'yazl'
import { BackupError } from '../../../src/gateway/state/backup-error.ts'
import type { BackupErrorKind } from '../../../src/gateway/state/backup-error.ts'
import { manifestText, sumsText } from '../../../src/gateway/state/backup-manifest.ts'
import type { Manifest } from '../../../src/gateway/state/backup-manifest.ts'
import { openBackup, refuseProblems } from '../../../src/gateway/state/backup-verify.ts'
import { writeBackup } from '../../../src/gateway/state/backup.ts'
import { PlacementState } from '../../../src/gateway/state/placement-state.ts'
import { STATE_FILES, STATE_ROLES } from '../../../src/gateway/state/state-files.ts'
import { CALLS_OF_A_WRITE, diskError, watchedDisk } from '../../support/faulty-disk.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { needsTool } from '../../support/needs.ts'
import { FACTS, stateFolder } from '../../support/state-folder.ts'
import type { StateFolder } from '../../support/state-folder.ts'

let box: StateFolder
beforeEach(() => {
  box = stateFolder()
  box.fill(1)
})
afterEach(() => box[Symbol.dispose]())

async function refused(file: string, kind: BackupErrorKind, message?: RegExp): Promise<string> {
  try {
    await using backup = await openBackup(file)
    refuseProblems(backup)
  } catch (error) {
    assert.ok(error instanceof BackupError, String(error))
    assert.equal(error.kind, kind, error.message)
    assert.ok(error.message.includes(file), error.message)
    if (message !== undefined) assert.match(error.message, message)
    return error.message
  }
  assert.fail(`${file} was taken`)
}

/** A ZIP of any entries, and a manifest that fits them unless another is given. */
async function forge(
  entries: readonly { name: string; text: string; mode?: number }[],
  change: (manifest: Manifest) => Manifest = (manifest) => manifest,
): Promise<string> {
  const base = path.join(box.folder, 'base.zip')
  const { manifest } = await writeBackup(
    { places: box.places, ...FACTS },
    { file: base, overwrite: true },
  )
  const file = path.join(box.folder, 'forged.zip')
  const text = manifestText(change(manifest))
  const all = [
    ...entries,
    { name: 'manifest.json', text },
    { name: 'SHA256SUMS', text: sumsText(change(manifest), text) },
  ]
  writeFileSync(file, await zipOf(all))
  return file
}

async function zipOf(
  entries: readonly { name: string; text: string; mode?: number }[],
): Promise<Buffer> {
  const zip = new ZipFile()
  for (const { name, text, mode = 0o100600 } of entries) {
    zip.addBuffer(Buffer.from(text), name, { mode, compress: false })
  }
  zip.end()
  const chunks: Buffer[] = []
  for await (const chunk of zip.outputStream as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function wholeEntries(): { name: string; text: string }[] {
  const state = STATE_ROLES.map((role) => ({
    name: `state/${STATE_FILES[role].name}`,
    text: readFileSync(box.fileOf(role), 'utf8'),
  }))
  const text = readFileSync(path.join(box.folder, 'config.json'), 'utf8')
  return [{ name: 'config.json', text }, ...state]
}

describe('what it holds', () => {
  test('config and every state file byte for byte, for its owner only', async () => {
    writeFileSync(`${box.fileOf('audit_file')}.1`, 'older\n')
    writeFileSync(`${box.fileOf('audit_file')}.12`, 'oldest\n')
    writeFileSync(`${box.fileOf('audit_file')}.old`, 'somebody keeps this here\n')
    const { file, manifest, size } = await box.backUp()
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal(statSync(file).size, size)
    await using backup = await openBackup(file)
    const names = backup.entries.map(({ name }) => name)
    const state = STATE_ROLES.map((role) => `state/${STATE_FILES[role].name}`)
    assert.deepEqual(names, [
      'config.json',
      ...state,
      'state/audit.jsonl.1',
      'state/audit.jsonl.12',
    ])
    for (const entry of backup.entries) {
      const chunks: Uint8Array[] = []
      for await (const chunk of backup.read(entry)) chunks.push(chunk)
      assert.deepEqual(Buffer.concat(chunks), readFileSync(entry.path), entry.name)
    }
    assert.deepEqual(manifest.absent, [])
    assert.deepEqual(backup.manifest, manifest)
    for (const entry of manifest.entries) assert.equal(entry.problem, null)
  })

  // A backup lies about for years: what the environment keeps secret must not be in it.
  test('the config as it is written, without what stands in the environment', async () => {
    process.env['NODE1_TOKEN'] = 'very-secret'
    const { file } = await box.backUp()
    await using backup = await openBackup(file)
    assert.match(backup.text('config') ?? '', /\$\{NODE1_TOKEN\}/)
    assert.ok(!readFileSync(file).includes('very-secret'))
  })

  test('what is not there is said to be absent', async () => {
    rmSync(box.fileOf('tenants_file'))
    rmSync(path.join(box.folder, 'config.json'))
    const { manifest } = await box.backUp()
    assert.deepEqual(manifest.absent, ['config', 'tenants_file'])
  })

  test('unzip and sha256sum read it without ogw', async (t) => {
    if (!needsTool(t, 'unzip') || !needsTool(t, 'sha256sum')) return
    const { file } = await box.backUp()
    const cwd = path.join(box.folder, 'unpacked')
    mkdirSync(cwd)
    execFileSync('unzip', ['-q', file], { cwd })
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd })
  })

  test('a broken document is kept as it is, and said to be one', async () => {
    writeFileSync(box.fileOf('keys_file'), '{"version":1')
    const { file, manifest } = await box.backUp()
    const keys = manifest.entries.find(({ role }) => role === 'keys_file')
    assert.match(keys?.problem ?? '', /broken/)
    await refused(file, 'refused', /state\/keys\.json: it is broken.*--force/)
  })

  test('an empty file and one of several megabytes', async () => {
    writeFileSync(box.fileOf('usage_file'), '')
    writeFileSync(box.fileOf('audit_file'), `${'x'.repeat(1_000)}\n`.repeat(5_000))
    const { file } = await box.backUp()
    await using backup = await openBackup(file)
    const sizes = new Map(backup.entries.map(({ role, size }) => [role, size]))
    assert.deepEqual([sizes.get('usage_file'), sizes.get('audit_file')], [0, 5_005_000])
  })
})

// The history is written before its document: in a backup it may be ahead, and never behind.
test('while edits go on, document and history of a backup fit each other', async () => {
  const clock = manualClock()
  const files = {
    document: box.fileOf('model_placement_file'),
    history: box.fileOf('placement_history_file'),
  }
  const baselines = () => new Map<string, never>()
  const placement = new PlacementState(files, { clock, baselines, place: () => {} })
  let ended = false
  const edits = (async () => {
    for (let count = 0; !ended; count += 1) {
      const override = { mode: 'allow_all' as const, allowed_models: [], denied_models: [] }
      const worker = `node-${count % 3}`
      const allowed_models = [`m${count}:1b`]
      await placement.edit('anna@cli', () => ({
        overrides: new Map([[worker, { ...override, allowed_models }]]),
        operation: `allow m${count}:1b`,
      }))
    }
  })()
  const revisions = new Set<number>()
  for (let count = 0; count < 25; count += 1) {
    const { file } = await box.backUp(`b${count}.zip`)
    await using backup = await openBackup(file)
    refuseProblems(backup)
    const { revision } = JSON.parse(backup.text('model_placement_file') ?? '') as {
      revision: number
    }
    const entry = backup.entries.find(({ role }) => role === 'placement_history_file')
    assert.ok(entry !== undefined)
    const chunks: Uint8Array[] = []
    for await (const chunk of backup.read(entry)) chunks.push(chunk)
    const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1)
    const ids = lines.map((line) => (JSON.parse(line) as { id: number }).id)
    assert.ok(ids.includes(revision), `revision ${revision} is not in ${ids.slice(-3).join(', ')}`)
    revisions.add(revision)
  }
  ended = true
  await edits
  assert.ok(revisions.size > 5, 'edits went on meanwhile')
})

describe('making one', () => {
  test('does not overwrite another file unless it is told to', async () => {
    const { file } = await box.backUp()
    const before = readFileSync(file)
    await assert.rejects(box.backUp(), (error: BackupError) => error.kind === 'refused')
    assert.deepEqual(readFileSync(file), before)
    const made = { ...FACTS, now: new Date('2026-06-01T12:00:00Z') }
    await writeBackup({ places: box.places, ...made }, { file, overwrite: true })
    assert.notDeepEqual(readFileSync(file), before)
  })

  test('a file that cannot be read is told, and no backup is made', async () => {
    rmSync(box.fileOf('keys_file'))
    mkdirSync(box.fileOf('keys_file'))
    await assert.rejects(box.backUp(), /cannot read .*keys\.json/)
    assert.ok(!readdirSync(box.folder).some((name) => name.startsWith('backup.zip')))
  })

  for (const call of CALLS_OF_A_WRITE.slice(0, -1)) {
    test(`a disk that fails at ${call}: told, and nothing is left`, async () => {
      const disk = watchedDisk((called) => {
        if (called === call) throw diskError('ENOSPC')
      })
      const file = path.join(box.folder, 'backup.zip')
      await assert.rejects(
        writeBackup({ places: box.places, ...FACTS, disk }, { file }),
        /backup\.zip could not be written, and nothing is left of it: the disk is full/,
      )
      assert.deepEqual(readdirSync(box.folder).toSorted(), ['config.json', 'state'])
    })
  }

  test('a full disk is told, and nothing is left', async (t) => {
    const mount = path.join(box.folder, 'small')
    mkdirSync(mount)
    if (!needsTool(t, 'mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', mount])) return
    try {
      const noise = Buffer.from(
        Array.from({ length: 200_000 }, (_, index) => (index * index) % 251),
      )
      writeFileSync(box.fileOf('audit_file'), noise.toString('base64') + Math.random())
      writeFileSync(path.join(mount, 'ballast'), Buffer.alloc(60_000))
      const file = path.join(mount, 'backup.zip')
      await assert.rejects(
        writeBackup({ places: box.places, ...FACTS }, { file }),
        /the disk is full.*ENOSPC/,
      )
      assert.deepEqual(readdirSync(mount), ['ballast'])
    } finally {
      spawnSync('umount', [mount])
    }
  })
})

describe('a damaged one is refused', () => {
  test('cut anywhere', async () => {
    const { file } = await box.backUp()
    const whole = readFileSync(file)
    const cut = path.join(box.folder, 'cut.zip')
    for (let part = 0; part < 20; part += 1) {
      writeFileSync(cut, whole.subarray(0, Math.floor((whole.length * part) / 20)))
      await refused(cut, 'damaged')
    }
    writeFileSync(cut, whole.subarray(0, -1))
    await refused(cut, 'damaged')
  })

  // Some bits of a ZIP mean nothing, as the time of an entry: then the content is what it was.
  test('one flipped bit, anywhere: refused, or without any effect', async () => {
    const { file } = await box.backUp()
    await using good = await openBackup(file)
    const whole = readFileSync(file)
    const flipped = path.join(box.folder, 'flipped.zip')
    let harmless = 0
    for (let at = 0; at < whole.length; at += 3) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
      writeFileSync(flipped, bytes)
      try {
        await using backup = await openBackup(flipped)
        assert.deepEqual(backup.manifest, good.manifest)
        harmless += 1
      } catch (error) {
        assert.ok(error instanceof BackupError, `byte ${at}: ${String(error)}`)
        assert.match(error.message, /^\S+flipped\.zip is damaged: /, `byte ${at}`)
      }
    }
    assert.ok(harmless < whole.length / 3 / 2, `${harmless} flips had no effect`)
  })

  test('no ZIP, an empty file, another ZIP, no file at all', async () => {
    const file = path.join(box.folder, 'other.zip')
    writeFileSync(file, '')
    await refused(file, 'damaged', /no whole ZIP/)
    writeFileSync(file, 'hello\n'.repeat(100))
    await refused(file, 'damaged', /no whole ZIP/)
    writeFileSync(file, await zipOf([]))
    await refused(file, 'damaged', /no manifest\.json, so that it is no backup made by ogw/)
    await refused(path.join(box.folder, 'none.zip'), 'not_found', /there is no such file/)
    await refused(box.folder, 'failed', /it is no file/)
  })

  test('a content that was exchanged together with its size and CRC', async () => {
    const entries = wholeEntries().map(({ name, text }) => ({
      name,
      text: name === 'state/keys.json' ? text.replace('infer', 'inFer') : text,
    }))
    await refused(await forge(entries), 'damaged', /state\/keys\.json .*SHA-256 differs/)
  })

  test('a manifest that was exchanged without its sum', async () => {
    const { manifest } = await box.backUp('base.zip')
    const file = path.join(box.folder, 'forged.zip')
    const text = manifestText({ ...manifest, host: 'another' })
    const sums = sumsText(manifest, manifestText(manifest))
    const own = [
      { name: 'manifest.json', text },
      { name: 'SHA256SUMS', text: sums },
    ]
    writeFileSync(file, await zipOf([...wholeEntries(), ...own]))
    await refused(file, 'damaged', /SHA256SUMS and manifest\.json do not fit/)
  })

  test('an entry too few, one too many, one twice', async () => {
    const whole = wholeEntries()
    await refused(await forge(whole.slice(1)), 'damaged', /config\.json is missing/)
    const more = [...whole, { name: 'state/audit.jsonl.7', text: 'x' }]
    await refused(await forge(more), 'damaged', /does not list state\/audit\.jsonl\.7/)
    const twice = [...whole, ...whole.slice(3, 4)]
    await refused(await forge(twice), 'damaged', /it is there twice/)
    const listedTwice = forge(whole, (manifest) => ({
      ...manifest,
      entries: [...manifest.entries, ...manifest.entries.slice(0, 1)],
    }))
    await refused(await listedTwice, 'damaged', /lists an entry twice/)
  })
})

describe('a forged one is refused', () => {
  // yazl makes no such names: they are put over one of the same length.
  const NAMES = [
    '../../../../../../etc/passwd',
    '/etc/ogw/config.json/keys.js',
    'state/../../keys.jsonkeys.js',
    'state\\..\\..\\keys.jsonkeys.',
    'C:/Windows/System32/keys.jso',
    'state/keys.json/../../../key',
  ]
  for (const name of NAMES) {
    test(`an entry called ${name}`, async () => {
      const placeholder = 'state/'.padEnd(Buffer.byteLength(name), 'p')
      const file = await forge([...wholeEntries(), { name: placeholder, text: 'x' }])
      const bytes = readFileSync(file).toString('latin1').replaceAll(placeholder, name)
      writeFileSync(file, Buffer.from(bytes, 'latin1'))
      await refused(file, 'damaged')
    })
  }

  test('a symbolic link or a folder in place of a file', async () => {
    for (const mode of [0o120777, 0o040755]) {
      const [config, ...others] = wholeEntries()
      assert.ok(config !== undefined)
      const file = await forge([{ ...config, mode }, ...others])
      await refused(file, 'damaged', /"config\.json": it is a link or a folder/)
    }
  })

  // Four gigabytes of zeros are four megabytes in a ZIP. What is declared is refused by its size,
  // and what is not declared is never read beyond it.
  test('an entry that unpacks to far more than it may', async () => {
    const zip = new ZipFile()
    zip.addBuffer(Buffer.alloc(300 * 1024 * 1024), 'state/keys.json')
    zip.end()
    const chunks: Buffer[] = []
    for await (const chunk of zip.outputStream as AsyncIterable<Buffer>) chunks.push(chunk)
    const file = path.join(box.folder, 'bomb.zip')
    writeFileSync(file, Buffer.concat(chunks))
    await refused(file, 'damaged', /says that it has 314572800 bytes; at most/)

    const bytes = readFileSync(file)
    const directory = bytes.lastIndexOf(Buffer.from('PK\u0001\u0002'))
    bytes.writeUInt32LE(100, directory + 24)
    writeFileSync(file, bytes)
    await refused(file, 'damaged')
  })

  test('a host that looks like a line of ogw', async () => {
    const forged = forge(wholeEntries(), (manifest) => ({ ...manifest, host: 'box\nrestored' }))
    await refused(await forged, 'damaged', /manifest\.json: host: /)
  })

  test('a role that does not fit its name', async () => {
    const swapped = forge(wholeEntries(), (manifest) => ({
      ...manifest,
      entries: manifest.entries.map((entry) =>
        entry.role === 'usage_file' ? { ...entry, role: 'keys_file' } : entry,
      ),
    }))
    await refused(await swapped, 'damaged', /state\/usage\.jsonl cannot be the keys_file/)
  })
})

describe('one of a newer ogw is refused', () => {
  test('a newer form of backup', async () => {
    const text = JSON.stringify({ format: 'ogw-backup', version: 2, ogw_version: '9.1.0' })
    const own = [
      { name: 'manifest.json', text },
      { name: 'SHA256SUMS', text: sumsText({ entries: [] }, text) },
    ]
    const file = path.join(box.folder, 'newer.zip')
    writeFileSync(file, await zipOf(own))
    await refused(
      file,
      'refused',
      /newer ogw \(9\.1\.0\): its form has version 2, this ogw knows 1/,
    )
  })

  // It was called damaged, and nobody looks for a newer ogw then.
  test('a state file that this ogw does not know', async () => {
    const sha256 = createHash('sha256').update('{}').digest('hex')
    const name = 'state/models.json'
    const entry = { name, role: 'models_file', path: '/x', size: 2, sha256, version: 1 }
    const file = await forge([...wholeEntries(), { name, text: '{}' }], (manifest) => ({
      ...manifest,
      ogw_version: '9.1.0',
      entries: [...manifest.entries, { ...entry, problem: null }],
    }))
    await refused(file, 'refused', /newer ogw \(9\.1\.0\): it holds state\/models\.json, which/)
  })

  test('a newer document', async () => {
    const text = readFileSync(box.fileOf('keys_file'), 'utf8').replace('1', '2')
    writeFileSync(box.fileOf('keys_file'), text)
    const { file } = await box.backUp()
    await refused(file, 'refused', /state\/keys\.json: .*newer ogw: it has version 2.*knows 1/)
  })
})

test('the folder of the state is as it was after all of that', async () => {
  const before = box.content()
  const { file } = await box.backUp()
  writeFileSync(file, readFileSync(file).subarray(100))
  await refused(file, 'damaged')
  assert.deepEqual(box.content(), before)
  assert.ok(existsSync(file))
})
