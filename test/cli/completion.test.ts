// What Tab offers: commands, options, choices, and names from the running gateway.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { type FakeAdmin, startFakeAdmin } from '../support/fake-admin.ts'
import { run } from '../support/run-cli.ts'
import { needsTool } from '../support/needs.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'ogw-completion-'))
let admin: FakeAdmin
before(async () => {
  admin = await startFakeAdmin({
    names: () => ({
      workers: ['node-1', 'node-2', 'рабочий-3'],
      models: ['qwen3:8b', 'qwen3:14b', 'x$(touch /tmp/pwned):1', 'y\u001b[2J', '-rf'],
    }),
  })
})
after(async () => {
  await admin[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

async function offered(words: string[], socket = admin.socket): Promise<string[]> {
  const ran = await run(['__complete', '--', ...words], { socket })
  assert.deepEqual([ran.code, ran.stderr], [0, ''])
  return ran.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t')[0] ?? '')
}

const CASES: readonly [string[], string[]][] = [
  [['st'], ['status', 'storage']],
  [
    ['placement', 'a'],
    ['allow', 'apply'],
  ],
  [
    ['placement', 'allow', 'q'],
    ['qwen3:8b', 'qwen3:14b'],
  ],
  [
    ['placement', 'allow', 'qwen3:8b', ''],
    ['node-1', 'node-2', 'рабочий-3'],
  ],
  [['placement', 'allow', 'qwen3:8b', 'node-1', 'node'], ['node-2']],
  [
    ['placement', 'mode', 'node-1', ''],
    ['allow_all', 'whitelist'],
  ],
  [['placement', 'apply', '-f', ''], [':file']],
  [
    ['placement', 'show', '--worker', 'node-'],
    ['node-1', 'node-2'],
  ],
  [
    ['placement', 'undo', '--'],
    [
      '--force',
      '--dry-run',
      '--no-color',
      '--ascii',
      '--yes',
      '--context',
      '--socket',
      '--json',
      '--version',
    ],
  ],
  [
    ['workers', 'show', '--watch', 'node-'],
    ['node-1', 'node-2'],
  ],
  [['--json', 'workers', 'drain', 'node-2', 'n'], ['node-1']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [['status', ''], []],
  [['nope', ''], []],
  [
    [''],
    [
      'status',
      'explain',
      'events',
      'audit',
      'backup',
      'storage',
      'doctor',
      'health',
      'workers',
      'placement',
      'models',
      'keys',
      'tenants',
      'credits',
      'usage',
      'requests',
      'serve',
      'demo',
      'simulate-worker',
      'tui',
      'admin-proxy',
      'config',
      'context',
      'completion',
    ],
  ],
]

for (const [words, expected] of CASES) {
  test(`ogw ${words.join(' ')}<Tab>`, async () => {
    assert.deepEqual((await offered(words)).toSorted(), expected.toSorted())
  })
}

test('a word in quotes, closed or not, is what stands in them', async () => {
  assert.deepEqual(await offered(['placement', 'allow', '"qwen3:']), ['qwen3:8b', 'qwen3:14b'])
  assert.deepEqual(await offered(['placement', 'deny', "'qwen3:8"]), ['qwen3:8b'])
  assert.deepEqual(await offered(['placement', 'deny', '"gemma4:*"', '"node-2"', '"n']), ['node-1'])
})

test('names that a shell would act on are not offered', async () => {
  assert.deepEqual(await offered(['explain', '']), ['qwen3:8b', 'qwen3:14b'])
})

test('a --socket in the line is the one that is asked', async () => {
  assert.deepEqual(
    await offered(['--socket', admin.socket, 'workers', 'show', 'node-1'], '/none.sock'),
    ['node-1'],
  )
})

test('without a gateway there is silence', async () => {
  assert.deepEqual(await offered(['workers', 'show', ''], path.join(folder, 'none.sock')), [])
})

test('saved contexts are offered', async () => {
  const env = { XDG_CONFIG_HOME: path.join(folder, 'config') }
  await run(['context', 'add', 'gpu.lan', '/run/a.sock'], { env })
  const ran = await run(['__complete', '--', '--context', 'g'], { env })
  assert.equal(ran.stdout, 'gpu.lan\n')
  assert.equal((await run(['__complete', '--', 'context', 'use', ''], { env })).stdout, 'gpu.lan\n')
})

const MAIN = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')

/** Completes a line in a real bash, whose words break at colons. */
async function inBash(line: string): Promise<string[]> {
  writeFileSync(path.join(folder, 'ogw'), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`)
  chmodSync(path.join(folder, 'ogw'), 0o755)
  writeFileSync(path.join(folder, 'ogw.bash'), (await run(['completion', 'bash'])).stdout)
  const script = `source ${folder}/ogw.bash; COMP_LINE=$1 COMP_POINT=\${#1}; _ogw; printf '%s\\n' "\${COMPREPLY[@]}"`
  // The gateway answers from this process, which therefore must not be blocked.
  const { promise, resolve } = Promise.withResolvers<string>()
  const { execFile } = await import('node:child_process')
  execFile(
    'bash',
    ['--norc', '-c', script, 'bash', line],
    {
      env: { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, OGW_SOCKET: admin.socket },
    },
    (_error, stdout) => resolve(stdout),
  )
  return (await promise).split('\n').filter((word) => word !== '')
}

test('bash: the script completes, also behind the colon of a model', async () => {
  assert.deepEqual(await inBash('ogw placement al'), ['allow'])
  assert.deepEqual(await inBash('ogw placement allow qwen3:8b node-'), ['node-1', 'node-2'])
  assert.deepEqual(await inBash('ogw placement allow qwen3:'), ['8b', '14b'])
  assert.deepEqual(await inBash('ogw placement allow "qwen3:'), ['qwen3:8b', 'qwen3:14b'])
  assert.deepEqual(await inBash('ogw workers show '), ['node-1', 'node-2', 'рабочий-3'])
})

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`${shell} can read its script`, async (t) => {
    if (!needsTool(t, shell)) return
    const { stdout } = await run(['completion', shell])
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'ogw-completion-')), 'script')
    t.after(() => rmSync(path.dirname(file), { recursive: true }))
    // From a file: fish does not read a script from the socket that Node gives it as stdin.
    writeFileSync(file, stdout)
    const checked = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    assert.equal(checked.stderr, '')
    assert.equal(checked.status, 0)
  })
}

test('completion --json holds the script', async () => {
  const { stdout } = await run(['completion', 'fish', '--json'])
  const { shell, script } = JSON.parse(stdout) as { shell: string; script: string }
  assert.equal(shell, 'fish')
  assert.match(script, /complete -c ogw/)
})
