// A command starts within 100 ms only if it loads nothing that it does not need. Times depend on
// the machine; what is loaded does not.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'

const MAIN = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')
const TRACER = path.join(import.meta.dirname, '..', 'support', 'trace-loads.js')
const HEAVY = [
  'ink',
  'react',
  'undici',
  'zod',
  'prom-client',
  'conf',
  'pino',
  'yoga-layout',
  'yazl',
  'yauzl',
]

const folder = mkdtempSync(path.join(tmpdir(), 'ogw-startup-'))
after(() => rmSync(folder, { recursive: true }))

interface Loaded {
  stdout: string
  /** Names of packages. */
  packages: string[]
  /** Files of ogw, from dist/src. */
  files: string[]
}

async function trace(argv: readonly string[], env: Record<string, string> = {}): Promise<Loaded> {
  const file = path.join(folder, `${argv.join('-').replaceAll(/[^\w-]/g, '_')}.txt`)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', TRACER, MAIN, ...argv],
    {
      env: { PATH: process.env['PATH'], HOME: folder, ...env, OGW_TRACE_LOADS: file },
    },
  ).catch((error: { stdout: string }) => error) // what was loaded counts, also where it failed
  const urls = readFileSync(file, 'utf8').trimEnd().split('\n')
  const packages = urls.flatMap(
    (url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
  )
  const files = urls.flatMap((url) => /\/dist\/src\/(.*)$/.exec(url)?.[1] ?? [])
  return { stdout, packages: [...new Set(packages)], files }
}

test('ogw --help loads commander and no command', async () => {
  const { stdout, packages, files } = await trace(['--help'])
  assert.match(stdout, /^Usage: ogw/)
  assert.deepEqual(packages, ['commander'])
  assert.deepEqual(
    files.filter((file) => file.startsWith('cli/commands/')),
    [],
  )
})

test('a command loads commander, itself and the plain part of the contract', async () => {
  await using admin = await startFakeAdmin({ 'placement.allow': () => fleet.change })
  const { stdout, packages, files } = await trace(['placement', 'allow', 'qwen3:8b', 'node-1'], {
    OGW_SOCKET: admin.socket,
  })
  assert.match(stdout, /may now run/)
  for (const name of HEAVY) assert.ok(!packages.includes(name), `${name} is loaded`)
  assert.deepEqual(packages, ['commander'])
  const rooms = new Set(
    files.map((file) => file.replace(/^((?:cli|tui\/present|gateway\/[^/]+)\/).*/, '$1')),
  )
  assert.deepEqual([...rooms].toSorted(), [
    'cli/',
    'gateway/contract/',
    'gateway/node-http.js',
    'tui/present/',
  ])
  assert.ok(!files.includes('gateway/contract/schema.js'), 'shapes are types only')
})

test('a saved context does not make conf load for a command that reads it', async () => {
  await using admin = await startFakeAdmin({ 'workers.list': () => fleet.workers })
  const env = { XDG_CONFIG_HOME: path.join(folder, 'xdg') }
  const added = await trace(['context', 'add', 'lab', admin.socket], env)
  assert.ok(added.packages.includes('conf'), 'the change is kept with conf')
  const { stdout, packages } = await trace(['--context', 'lab', 'workers', '--json'], env)
  assert.equal((JSON.parse(stdout) as unknown[]).length, 3)
  assert.deepEqual(packages, ['commander'])
})

// A gateway makes no backups: it pays for no ZIP, neither in time nor in memory.
test('a gateway loads no ZIP, and a backup no gateway', async () => {
  const config = path.join(folder, 'config.json')
  const state = path.join(folder, 'state')
  mkdirSync(state)
  writeFileSync(path.join(state, 'keys.json'), 'broken')
  writeFileSync(config, JSON.stringify({ ops_listen: null, storage: { dir: state } }))
  const served = await trace(['serve', '--config', config])
  assert.ok(served.files.includes('gateway/main.js') && served.packages.includes('undici'))
  assert.deepEqual(
    served.packages.filter((name) => /^ya?u?zl$/.test(name)),
    [],
  )
  const file = path.join(folder, 'b.zip')
  const made = await trace(['backup', 'create', file, '--config', config])
  assert.equal(made.stdout.trim(), file)
  assert.ok(made.packages.includes('yazl'))
  for (const name of ['ink', 'react', 'undici', 'pino', 'prom-client']) {
    assert.ok(!made.packages.includes(name), `${name} is loaded`)
  }
  assert.ok(!made.files.includes('gateway/main.js'))
})
