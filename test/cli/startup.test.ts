// A command starts within 100 ms only if it loads nothing that it does not need. Times depend on
// the machine; what is loaded does not.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'

const MAIN = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')
const TRACER = path.join(import.meta.dirname, '..', 'support', 'trace-loads.js')
const HEAVY = ['ink', 'react', 'undici', 'zod', 'prom-client', 'conf', 'pino', 'yoga-layout']

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
  )
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
  assert.deepEqual([...rooms].toSorted(), ['cli/', 'gateway/contract/', 'tui/present/'])
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
