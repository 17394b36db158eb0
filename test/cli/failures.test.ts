// What goes wrong has an exit code, says what to do on stderr, and leaves stdout empty.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { Handlers } from '../../src/gateway/admin/handlers.ts'
import { AdminError, type AdminFault } from '../../src/gateway/contract/faults.ts'
import { type FakeAdmin, startFakeAdmin } from '../support/fake-admin.ts'
import { run } from '../support/run-cli.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'ogw-cli-'))
const notJson = path.join(folder, 'broken.json')
writeFileSync(notJson, '{"version": 1,')
const nowhere = path.join(folder, 'admin.sock')

const failing = (fault: AdminFault) => (): never => {
  throw new AdminError(fault)
}

const handlers: Partial<Handlers> = {
  'workers.show': failing({ code: 'not_found', message: 'there is no worker "nope"' }),
  'placement.deny': failing({
    code: 'refused',
    message: 'no worker that has it could run qwen3:8b any more',
    details: { force: true, orphaned: ['qwen3:8b', 'x\u001b[2J'] },
  }),
  'placement.undo': failing({ code: 'conflict', message: 'node-1 was edited since by root' }),
  'placement.allow': failing({ code: 'not_saved', message: 'disk full' }),
  'config.reload': failing({ code: 'config_invalid', message: 'workers[0].url: not a URL' }),
  'storage.list': () => {
    throw new TypeError('a bug')
  },
  'workers.drain': () => [
    { worker: 'a', ok: true, changed: true, message: 'drains' },
    { worker: 'b', ok: false, changed: false, message: 'there is no such worker' },
  ],
  'requests.cancel': ({ id }) => ({ id, cancelled: false, message: `${id} has ended already` }),
  health: () => ({ healthy: false, problems: ['worker "a" is down'] }),
  names: () => ({ workers: ['a', 'b'], models: [] }),
  'models.pull': async function* () {
    const line = { worker: 'a', digest: null, completed_bytes: null, total_bytes: null }
    yield { ...line, status: 'pulling manifest', done: false, error: null }
    yield { ...line, status: 'pulling manifest', done: true, error: 'file does not exist' }
  },
}

let admin: FakeAdmin
before(async () => {
  admin = await startFakeAdmin(handlers)
})
after(async () => {
  rmSync(folder, { recursive: true })
  // `storage.list` is a bug on purpose.
  await assert.rejects(async () => admin[Symbol.asyncDispose]())
})

/** Command line, exit code, what stderr says. */
const CASES: readonly [string, number, RegExp][] = [
  ['nope', 2, /unknown command 'nope'/],
  ['statsu', 2, /Did you mean status\?/],
  ['workers shwo a', 2, /Did you mean show\?/],
  ['workers show', 2, /missing required argument 'worker'/],
  ['status --josn', 2, /Did you mean --json\?/],
  ['placement mode a allow', 2, /Allowed choices are allow_all, whitelist/],
  ['explain m --ctx many', 2, /Write a whole number/],
  ['placement apply', 2, /required option '-f, --file <path>'/],
  [`placement apply -f ${notJson}`, 2, /broken\.json is not JSON/],
  [`placement apply -f ${folder}/none.json`, 2, /cannot read .*none\.json: ENOENT/],
  ['models pull m', 2, /--worker NAME, or --all[^]*there are a, b/],
  ['models rm m', 2, /from which workers/],
  ['models rm m --worker a', 2, /Nobody can answer here: say --yes/],
  ['workers show nope', 5, /there is no worker "nope"/],
  [
    'placement deny m a',
    6,
    /error: no worker that has it[^]*left for:\n {4}qwen3:8b\n {4}x\\u001b\[2J\n {2}allow them/,
  ],
  ['placement undo', 6, /was edited since by root/],
  ['placement allow m a', 1, /disk full/],
  ['config reload', 3, /workers\[0\]\.url/],
  ['storage', 1, /a bug here/],
  ['workers drain a b', 1, /1 of 2 workers failed\n {2}a: drains\n {2}b: there is no such worker/],
  ['requests cancel 1', 6, /has ended already/],
  ['models pull m --all', 1, /pull failed on 1 of 1 worker\n {2}a: file does not exist/],
  ['--context nope status', 5, /there is no context "nope"/],
  ['--context nope --socket /x status', 2, /not both/],
]

for (const [line, code, said] of CASES) {
  for (const json of [false, true]) {
    test(`ogw ${line.replaceAll(folder, '')}${json ? ' --json' : ''} exits with ${code}`, async () => {
      const ran = await run([...line.split(' '), ...(json ? ['--json'] : [])], {
        env: line.startsWith('--context') ? {} : { OGW_SOCKET: admin.socket },
      })
      assert.equal(ran.code, code, ran.stderr)
      assert.match(ran.stderr, said)
      assert.equal(ran.stdout, '', 'a failure leaves stdout empty')
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      assert.doesNotMatch(ran.stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    })
  }
}

test('without a gateway every place is named, with why, and how to start one', async () => {
  const ran = await run(['status'], { socket: nowhere })
  assert.equal(ran.code, 4)
  assert.equal(ran.stdout, '')
  assert.ok(ran.stderr.includes(`${nowhere} (no such socket)`), ran.stderr)
  assert.match(ran.stderr, /ogw serve/)
})

test('--socket beats OGW_SOCKET', async () => {
  const ran = await run(['status', '--socket', nowhere], { socket: admin.socket })
  assert.equal(ran.code, 4)
})

test('health tells by its exit code, and why', async () => {
  const loud = await run(['health'], { socket: admin.socket })
  assert.deepEqual([loud.code, loud.stdout], [7, 'worker "a" is down\n'])
  const quiet = await run(['health', '--quiet'], { socket: admin.socket })
  assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [7, '', ''])
  const gone = await run(['health', '-q'], { socket: nowhere })
  assert.equal(gone.code, 4)
})

test('help goes to stdout and is no failure; no command at all is one', async () => {
  const help = await run(['--help'])
  assert.deepEqual([help.code, help.stderr], [0, ''])
  assert.match(help.stdout, /^Usage: ogw/)
  const none = await run([])
  assert.deepEqual([none.code, none.stdout], [2, ''])
  for (const line of [
    ['help', 'placement'],
    ['placement', 'help'],
    ['placement', '--help'],
    ['placement', 'allow', '-h'],
  ]) {
    const ran = await run(line)
    assert.equal(ran.code, 0, line.join(' '))
    assert.match(ran.stdout, /Examples:/, line.join(' '))
  }
})
