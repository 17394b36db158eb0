// `ogw backup` as an operator uses it: with a gateway that runs, that was stopped, that was killed,
// and on the morning after the disk broke.

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { run } from '../support/run-cli.ts'
import type { Ran } from '../support/run-cli.ts'
import { contentOf, stateFolder } from '../support/state-folder.ts'
import { until } from '../support/until.ts'

const OGW = path.join(import.meta.dirname, '..', '..', '..', 'bin', 'ogw')
const CHILD = path.join(import.meta.dirname, '..', 'support', 'restore-and-die.js')

let folder: string
let running: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ogw-backup-cli-'))
})
afterEach(async () => {
  for (const child of running) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) {
      await new Promise((resolve) => child.once('close', resolve))
    }
  }
  running = []
  rmSync(folder, { recursive: true, force: true })
})

const at = (...names: string[]): string => path.join(folder, ...names)
const ogw = (line: string): Promise<Ran> =>
  run(line.replaceAll('DIR', folder).split(' '), { socket: at('admin.sock') })

function writeConfig(more: object = {}): void {
  const config = {
    listen: '127.0.0.1:0',
    ops_listen: null,
    admin: { socket: at('admin.sock') },
    storage: { dir: at('state') },
    tenants: [{ name: 'default', credits: 1_000_000 }],
    workers: [{ name: 'node-1', url: 'http://127.0.0.1:9', probe: { interval: 'off' } }],
    ...more,
  }
  writeFileSync(at('config.json'), JSON.stringify(config))
}

interface Served {
  child: ChildProcess
  url: string
  said(): string
  stop(): Promise<void>
}

/** A real `ogw serve`. Rejects with what it said where it ends instead of listening. */
async function serve(config = at('config.json')): Promise<Served> {
  const env = { ...process.env, NODE1_TOKEN: 'secret' }
  const child = spawn(OGW, ['serve', '--config', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
  })
  running.push(child)
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()))
  const address = await until(
    () =>
      child.exitCode === null
        ? /"gateway.started","listen":"([^"]+)"/.exec(text)?.[1]
        : `exit ${child.exitCode}`,
    { timeoutMs: 20_000, what: 'the gateway to listen' },
  )
  if (address.startsWith('exit')) {
    await ended
    throw new Error(`${address}: ${text}`)
  }
  return {
    child,
    url: `http://${address}`,
    said: () => text,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

const state = (): Record<string, string> =>
  contentOf(at('state'), (name) => !/^(?:before-restore-|gateway\.json|audit)/.test(name))

describe('of a running gateway', () => {
  // What it counted a moment ago is written first: nobody loses a second.
  test('the backup holds also what was only in its memory', async () => {
    await using sim = await startSimulatedWorker({ models: ['alpha:8b'], tokens: 5 })
    writeConfig({ workers: [{ name: 'node-1', url: sim.url }] })
    const gateway = await serve()
    assert.equal((await ogw('keys create --tenant default')).code, 0)
    assert.equal((await ogw('placement deny beta:* node-1')).code, 0)
    const body = JSON.stringify({ model: 'alpha:8b', prompt: 'hi', stream: false })
    await (await fetch(`${gateway.url}/api/generate`, { method: 'POST', body })).text()

    const ran = await ogw('backup create DIR/b.zip --json')
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stderr, /holds the config .*config\.json and \d state files .*running gateway/)
    const row = JSON.parse(ran.stdout) as { gateway: string; entries: { role: string }[] }
    assert.equal(row.gateway, 'running')
    const roles = row.entries.map(({ role }) => role)
    for (const role of ['config', 'keys_file', 'credits_file', 'usage_file', 'audit_file']) {
      assert.ok(roles.includes(role), `${role} of ${roles.join(', ')}`)
    }
    await gateway.stop()
    const again = await ogw('backup restore DIR/b.zip --config DIR/config.json --dry-run')
    assert.match(again.stdout, /credits_file +same/)
    assert.match(again.stdout, /usage_file +same/)
  })

  test('a restore is refused, by whatever socket it asks, and nothing changes', async () => {
    writeConfig()
    const gateway = await serve()
    await ogw('keys create --tenant default')
    await ogw('backup create DIR/b.zip')
    await ogw('keys create --tenant default')
    const before = state()
    for (const socket of [at('admin.sock'), at('none.sock')]) {
      const argv = ['backup', 'restore', at('b.zip'), '--config', at('config.json'), '--yes']
      const ran = await run(argv, { socket })
      assert.equal(ran.code, 6)
      assert.match(ran.stderr, /a gateway runs over .*state \(process \d+\).*stop it first/)
      assert.equal(ran.stdout, '')
    }
    assert.deepEqual(state(), before)
    await gateway.stop()
  })

  // The folder was cleared in despair, and with it the word that a gateway runs over it.
  test('it is found by its socket where it has no word in its folder', async () => {
    writeConfig()
    await serve()
    await ogw('keys create --tenant default')
    await ogw('backup create DIR/b.zip')
    for (const name of readdirSync(at('state'))) rmSync(at('state', name))
    const ran = await ogw('backup restore DIR/b.zip --config DIR/config.json --yes')
    assert.equal(ran.code, 6)
    assert.match(ran.stderr, /a gateway runs over .*state \(socket \S+admin\.sock\)/)
    assert.deepEqual(
      Object.keys(state()).filter((name) => name === 'keys.json'),
      [],
    )
  })

  // Each would write over what the other has written, and neither would know.
  test('a second one over the same state does not start, whatever its socket is called', async () => {
    writeConfig()
    const first = await serve()
    writeConfig({ admin: { socket: at('other.sock') } })
    await assert.rejects(serve(), /exit 1: .*another gateway keeps its state in .*admin\.sock/)
    assert.equal((await ogw('keys create --tenant default')).code, 0)
    first.child.kill('SIGKILL')
    await until(() => first.child.signalCode ?? undefined, { what: 'the end of the gateway' })
    const second = await serve()
    await second.stop()
    assert.ok(!existsSync(at('state', 'gateway.json')))
  })

  test('a link to the folder is no other folder', async () => {
    writeConfig()
    await serve()
    symlinkSync(at('state'), at('link'))
    writeConfig({ admin: { socket: at('other.sock') }, storage: { dir: at('link') } })
    await assert.rejects(serve(), /exit 1: .*another gateway keeps its state in .*link/)
    assert.ok(!existsSync(at('other.sock')))
  })

  // Two units of one machine start together after a power cut, and find the word of one that is gone.
  test('of two that start at once one runs', async () => {
    mkdirSync(at('state'))
    const gone = { version: 1, pid: 1, host: hostname(), socket: at('gone.sock'), started_at: '' }
    writeFileSync(at('state', 'gateway.json'), JSON.stringify(gone))
    const names = ['one', 'two', 'three']
    const configs = names.map((name) => {
      writeConfig({ admin: { socket: at(`${name}.sock`) } })
      renameSync(at('config.json'), at(`${name}.json`))
      return at(`${name}.json`)
    })
    const started = await Promise.allSettled(configs.map((config) => serve(config)))
    const refused = started.filter(({ status }) => status === 'rejected')
    assert.equal(refused.length, 2)
    const { socket } = JSON.parse(readFileSync(at('state', 'gateway.json'), 'utf8')) as typeof gone
    assert.equal((await run(['status'], { socket })).code, 0)
  })

  // A process that hangs still has the state in its memory.
  test('one that does not answer counts as running', async () => {
    writeConfig()
    const { child } = await serve()
    await ogw('backup create DIR/b.zip')
    child.kill('SIGSTOP')
    const ran = await ogw('backup restore DIR/b.zip --config DIR/config.json --yes')
    child.kill('SIGCONT')
    assert.equal(ran.code, 6)
    assert.match(ran.stderr, /a gateway may run over .*: it does not answer/)
  })

  test('one that was killed is no hindrance', async () => {
    writeConfig()
    const { child } = await serve()
    await ogw('keys create --tenant default')
    await ogw('backup create DIR/b.zip')
    const old = state()
    child.kill('SIGKILL')
    await until(() => child.signalCode ?? undefined, { what: 'the end of the gateway' })
    assert.ok(existsSync(at('state', 'gateway.json')))
    rmSync(at('state', 'keys.json'))
    const ran = await ogw('backup restore DIR/b.zip --config DIR/config.json --yes')
    assert.equal(ran.code, 0, ran.stderr)
    assert.deepEqual(state(), old)
  })

  // A container has another name after each start, and its socket is not to be seen from outside.
  test('one on another machine is believed to run, unless somebody knows better', async () => {
    using box = boxWithConfig()
    const { file } = await box.backUp()
    box.fill(2)
    writeFileSync(
      path.join(box.dir, 'gateway.json'),
      JSON.stringify({ version: 1, pid: 7, host: 'other', socket: '/none', started_at: '' }),
    )
    const argv = ['backup', 'restore', file, '--config', configOf(box), '--yes']
    const refused = await run(argv)
    assert.equal(refused.code, 6)
    assert.match(refused.stderr, /process 7 on other\).*this machine cannot ask.*--force/)
    assert.equal((await run([...argv, '--force'])).code, 0)
  })
})

/** A state folder whose config says where it is. */
function boxWithConfig() {
  const box = stateFolder()
  box.fill(1)
  return box
}
const configOf = ({ folder: of }: { folder: string }): string => path.join(of, 'config.json')

describe('the morning after', () => {
  test('damaged state: told at the start, restored, undone, and all of it is there', async () => {
    writeConfig()
    const first = await serve()
    await ogw('keys create --tenant default')
    await ogw('tenants set red --weight 3')
    await ogw('placement deny beta:* node-1')
    await ogw('workers drain node-1')
    const told = async (): Promise<unknown[]> =>
      Promise.all(
        ['keys', 'tenants', 'placement export', 'placement history'].map(
          async (line) => JSON.parse((await ogw(`${line} --json`)).stdout) as unknown,
        ),
      )
    const before = await told()
    await ogw('backup create DIR/b.zip')
    await first.stop()
    const whole = state()

    writeFileSync(at('state', 'keys.json'), 'x')
    rmSync(at('state', 'tenants.json'))
    const broken = state()
    await assert.rejects(serve(), /exit 78: .*keys\.json is broken.*from a backup/)
    const ran = await ogw('backup restore DIR/b.zip --config DIR/config.json --yes')
    assert.equal(ran.code, 0, ran.stderr)
    assert.deepEqual(state(), whole)
    const second = await serve()
    assert.deepEqual(await told(), before)
    assert.match((await ogw('workers list')).stdout, /node-1 .*drain/)
    const audit = JSON.parse((await ogw('audit --json --limit 1')).stdout) as unknown[]
    assert.equal((audit[0] as { operation: string }).operation, 'backup.restore')
    const storage = await ogw('storage')
    assert.match(storage.stdout, /before_restore .*before-restore-/)
    await second.stop()

    // The sentence names the command, with all that it needs.
    const line = /To undo: ogw (.*)/.exec(ran.stderr)?.[1] ?? ''
    assert.match(line, /--force$/)
    const undone = await run([...line.split(' '), '--yes'], { now: Date.now() })
    assert.equal(undone.code, 0, undone.stderr)
    assert.deepEqual(state(), broken)
  })

  test('a restore that was killed is finished by the next start', async () => {
    using box = boxWithConfig()
    const { file } = await box.backUp()
    box.fill(2)
    const journal = path.join(box.dir, 'restore-under-way.json')
    for (let count = 90; !existsSync(journal); count += 1) {
      const { signal } = spawnSync(process.execPath, [CHILD, box.folder, file, String(count)])
      assert.equal(signal, 'SIGKILL')
      for (const name of readdirSync(box.dir)) {
        if (name.startsWith('before-') && !existsSync(journal)) rmSync(path.join(box.dir, name))
      }
    }
    const create = await run(['backup', 'create', at('no.zip'), '--config', configOf(box)])
    assert.equal(create.code, 6)
    assert.match(
      create.stderr,
      /restore in .* was interrupted: start the gateway, or restore again/,
    )

    const gateway = await serve(configOf(box))
    assert.match(
      gateway.said(),
      /note: the restore of .*backup\.zip was interrupted, and is finished/,
    )
    await gateway.stop()
    const now = contentOf(box.dir)
    assert.match(now['tenants.json'] ?? '', /"revision": 1/)
    assert.match(readFileSync(configOf(box), 'utf8'), /revision 1/)
    assert.ok(!existsSync(journal))
  })

  test('a restore that was killed is finished by the next restore', async () => {
    using box = boxWithConfig()
    const { file } = await box.backUp()
    box.fill(2)
    const other = (await box.backUp('other.zip')).file
    writeFileSync(
      path.join(box.dir, 'restore-under-way.json'),
      JSON.stringify({
        version: 1,
        at: '',
        actor: '',
        backup: file,
        undo: 'u.zip',
        steps: [{ target: box.fileOf('tenants_file'), staged: null }],
        audit: null,
      }),
    )
    const ran = await run(['backup', 'restore', other, '--config', configOf(box), '--yes'])
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stderr, /an earlier restore, of .*backup\.zip, was interrupted/)
    assert.match(ran.stdout, /tenants_file +create/)
  })
})

describe('what it says', () => {
  test('where nobody can answer a restore needs --yes, and changes nothing', async () => {
    using box = boxWithConfig()
    const { file } = await box.backUp()
    box.fill(2)
    const before = box.content()
    const argv = ['backup', 'restore', file, '--config', configOf(box)]
    const ran = await run(argv)
    assert.equal(ran.code, 2)
    assert.match(ran.stderr, /replace +\/\S+keys\.json[^]*say --yes to do it/)
    assert.equal(ran.stdout, '')
    const dry = await run([...argv, '--dry-run', '--json'])
    assert.equal(dry.code, 0)
    const row = JSON.parse(dry.stdout) as { dry_run: boolean; undo: null; changes: unknown[] }
    assert.deepEqual([row.dry_run, row.undo, row.changes.length], [true, null, 10])
    const no = await run(argv, { terminal: 80, stdin: 'n\n' })
    assert.deepEqual([no.code, no.stdout], [1, ''])
    assert.deepEqual(box.content(), before)
    const yes = await run(argv, { terminal: 80, stdin: 'y\n' })
    assert.equal(yes.code, 0, yes.stderr)
    const again = await run(argv)
    assert.deepEqual([again.code, again.stderr.includes('nothing to change')], [0, true])
  })

  test('the config is replaced only by --with-config, and its problems are told', async () => {
    using box = boxWithConfig()
    const { file } = await box.backUp()
    box.fill(2)
    const argv = ['backup', 'restore', file, '--config', configOf(box), '--yes']
    const without = await run(argv)
    assert.match(without.stderr, /config is kept: it differs; --with-config replaces it/)
    assert.match(readFileSync(configOf(box), 'utf8'), /revision 2/)
    const ran = await run([...argv, '--with-config'], { now: Date.now() })
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stderr, /would not start with this config[^]*NODE1_TOKEN is not set/)
    assert.match(readFileSync(configOf(box), 'utf8'), /revision 1/)
    assert.match(ran.stderr, /To undo: ogw .* --config \S+ --with-config/)
  })

  test('a damaged or newer backup is exit 6, none at all 5', async () => {
    using box = boxWithConfig()
    const { file } = await box.backUp()
    const before = box.content()
    const argv = ['--config', configOf(box), '--yes']
    writeFileSync(at('cut.zip'), readFileSync(file).subarray(0, 2_000))
    const cut = await run(['backup', 'restore', at('cut.zip'), ...argv])
    assert.equal(cut.code, 6)
    assert.match(cut.stderr, /^error: .*cut\.zip is damaged: it is no whole ZIP/)
    assert.equal((await run(['backup', 'restore', at('none.zip'), ...argv])).code, 5)
    assert.deepEqual(box.content(), before)

    const keys = box.fileOf('keys_file')
    writeFileSync(keys, readFileSync(keys, 'utf8').replace('"version": 1', '"version": 2'))
    const newer = (await box.backUp('newer.zip')).file
    box.fill(1)
    const refused = await run(['backup', 'restore', newer, ...argv])
    assert.equal(refused.code, 6)
    assert.match(refused.stderr, /keys\.json: it was written by a newer ogw: it has version 2/)
    assert.deepEqual(box.content(), before)
    assert.equal((await run(['backup', 'restore', newer, ...argv, '--force'])).code, 0)
  })

  // `sudo -u ogw` has another home than the unit has: an empty backup would be found out too late.
  test('no state where it is looked for: told, with what to do', async () => {
    const env = { XDG_STATE_HOME: at('elsewhere') }
    const created = await run(['backup', 'create', at('b.zip')], { env })
    assert.equal(created.code, 5)
    assert.match(created.stderr, /no state folder .*elsewhere\/ogw[^]*STATE_DIRECTORY/)
    assert.deepEqual(readdirSync(folder), [])

    using box = boxWithConfig()
    const { file } = await box.backUp()
    const restored = await run(['backup', 'restore', file, '--yes'], { env })
    if (hostname() !== 'box') {
      assert.equal(restored.code, 0, 'the backup is of another machine: this one has none yet')
      rmSync(at('elsewhere'), { recursive: true })
    }
    const own = await run(['backup', 'create', at('own.zip'), '--config', configOf(box)])
    assert.equal(own.code, 0, own.stderr)
    const refused = await run(['backup', 'restore', at('own.zip'), '--yes'], { env })
    assert.equal(refused.code, 6)
    assert.match(refused.stderr, /state would go to .*elsewhere\/ogw, which does not exist/)
    assert.ok(!existsSync(at('elsewhere')))
  })

  test('a config of which storage cannot be read is exit 3; the rest of it may be broken', async () => {
    mkdirSync(at('state'))
    writeConfig({ workers: 'none', storage: { dir: at('state') } })
    assert.equal((await ogw('backup create DIR/b.zip --config DIR/config.json')).code, 0)
    const none = await ogw('backup restore DIR/b.zip --config DIR/none.json --yes')
    assert.equal(none.code, 3)
    assert.match(none.stderr, /there is no config \S+none\.json\n {2}--with-config puts the one of/)
    writeConfig({ storage: { dirr: at('state') } })
    const ran = await ogw('backup create DIR/c.zip --config DIR/config.json')
    assert.equal(ran.code, 3)
    assert.match(ran.stderr, /does not say where state is\n {2}storage\.dirr: unknown key/)
  })

  test('- is stdout, and takes no --json', async () => {
    using box = boxWithConfig()
    const zip = execFileSync(OGW, ['backup', 'create', '-', '--config', configOf(box)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    writeFileSync(at('out.zip'), zip)
    const argv = ['backup', 'restore', at('out.zip'), '--config', configOf(box), '--dry-run']
    assert.equal((await run(argv)).code, 0)
    assert.equal((await run(['backup', 'create', '-', '--json'])).code, 2)
  })

  test('a stdout that is full is told in a line, and is no success', async () => {
    using box = boxWithConfig()
    const full = openSync('/dev/full', 'w')
    const argv = ['backup', 'create', '-', '--config', configOf(box)]
    const ran = spawnSync(OGW, argv, { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' })
    closeSync(full)
    assert.equal(ran.status, 1)
    assert.match(ran.stderr, /^error: stdout cannot be written: ENOSPC.*\n$/)
  })

  test('an existing file is overwritten with --force alone, a device never', async () => {
    using box = boxWithConfig()
    const create = (file: string, ...more: string[]): Promise<Ran> =>
      run(['backup', 'create', file, '--config', configOf(box), ...more])
    writeFileSync(at('b.zip'), 'precious')
    const refused = await create(at('b.zip'))
    assert.equal(refused.code, 6)
    assert.match(refused.stderr, /is there already: name another file, or say --force/)
    assert.equal((await create(at('b.zip'), '--force')).code, 0)
    assert.equal((await create(folder, '--force')).code, 6)
    const source = await create(box.fileOf('keys_file'), '--force')
    assert.equal(source.code, 6)
    assert.match(source.stderr, /is the keys_file itself, which would be lost/)
    assert.equal((await create(at('no', 'such', 'b.zip'))).code, 1)
  })
})
