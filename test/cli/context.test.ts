// Saved contexts: kept exactly, for this user alone, never rewritten by reading, never reset when
// broken. And a gateway behind ssh, with a script in place of ssh.

import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { parseTarget, sshArguments } from '../../src/cli/target.ts'
import { startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'
import { run } from '../support/run-cli.ts'

const root = mkdtempSync(path.join(tmpdir(), 'ogw-contexts-'))
after(() => rmSync(root, { recursive: true }))

let home = ''
let file = ''
let count = 0
beforeEach(() => {
  count += 1
  home = path.join(root, String(count))
  file = path.join(home, 'ogw', 'contexts.json')
})

const ogw = (line: string, env: Record<string, string> = {}) =>
  run(line.split(' '), { env: { XDG_CONFIG_HOME: home, ...env } })

test('add, list, use and remove', async () => {
  assert.equal((await ogw('context add box ssh://me@gpu-box:2222')).code, 0)
  assert.equal((await ogw('context add lab /run/lab.sock')).code, 0)
  assert.equal((await ogw('context use lab')).code, 0)
  assert.equal(
    (await ogw('context list')).stdout,
    'CURRENT   NAME   TARGET\n          box    ssh://me@gpu-box:2222\n*         lab    /run/lab.sock\n',
  )
  assert.deepEqual(JSON.parse((await ogw('context --json')).stdout), [
    { name: 'box', target: 'ssh://me@gpu-box:2222', current: false },
    { name: 'lab', target: '/run/lab.sock', current: true },
  ])
  assert.equal((await ogw('context remove lab')).code, 0)
  assert.deepEqual(JSON.parse((await ogw('context list --json')).stdout), [
    { name: 'box', target: 'ssh://me@gpu-box:2222', current: false },
  ])
  assert.equal((await ogw('context remove lab')).code, 5)
  assert.equal((await ogw('context use lab')).code, 5)
})

test('the file is for this user alone, whatever the umask', async () => {
  const before = process.umask(0o022)
  try {
    await ogw('context add box /run/a.sock')
  } finally {
    process.umask(before)
  }
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('names with dots and names of Object are names like any other', async () => {
  const names = ['gpu.lan', 'a.b.c', '__proto__', 'constructor', 'toString', 'рабочий-1']
  for (const name of names) {
    const ran = await ogw(`context add ${name} /run/x.sock`)
    assert.equal(ran.code, 0, ran.stderr)
  }
  const rows = JSON.parse((await ogw('context list --json')).stdout) as { name: string }[]
  assert.deepEqual(rows.map(({ name }) => name).toSorted(), names.toSorted())
})

test('reading never writes', async () => {
  mkdirSync(path.dirname(file), { recursive: true })
  const text = '{"contexts":{"box":"/run/box.sock"},"kept":  "by hand"}'
  writeFileSync(file, text, { mode: 0o644 })
  const { mtimeMs } = statSync(file)
  await ogw('context list')
  await ogw('--context box status')
  assert.equal(readFileSync(file, 'utf8'), text)
  assert.equal(statSync(file).mtimeMs, mtimeMs)
  assert.deepEqual(readdirSync(path.dirname(file)), ['contexts.json'])
})

test('nothing is written where nothing was saved', async () => {
  assert.equal((await ogw('context list --json')).stdout, '[]\n')
  assert.throws(() => statSync(home), { code: 'ENOENT' })
})

for (const broken of [
  '{"contexts": {',
  '[]',
  '{"contexts": 1}',
  '{"contexts": {"a": 1}}',
  '{"current": 1}',
  '',
]) {
  test(`a broken file is said and left alone: ${broken}`, async () => {
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, broken)
    for (const line of ['context list', 'context add a /run/a.sock', 'context use', 'status']) {
      const ran = await ogw(line)
      assert.equal(ran.code, 1, line)
      assert.equal(ran.stdout, '')
      assert.match(ran.stderr, /saved contexts is broken[^]*left as it is/, line)
    }
    assert.equal(readFileSync(file, 'utf8'), broken)
  })
}

test('a target is a path or an ssh address, and cannot smuggle an option to ssh', () => {
  const good: [string, string[]][] = [
    ['ssh://me@gpu-box', ['-T', '-l', 'me', '--', 'gpu-box', 'ogw admin-proxy']],
    ['ssh://gpu-box:2222', ['-T', '-p', '2222', '--', 'gpu-box', 'ogw admin-proxy']],
    ['ssh://me@[fe80::1]:22', ['-T', '-p', '22', '-l', 'me', '--', 'fe80::1', 'ogw admin-proxy']],
  ]
  for (const [text, args] of good) {
    const target = parseTarget(text)
    assert.ok(target.kind === 'ssh')
    assert.deepEqual(sshArguments(target), args)
  }
  const bad = [
    'box',
    './a.sock',
    'http://box',
    'ssh://',
    'ssh://-oProxyCommand=x',
    'ssh://-l@h',
    'ssh://a b',
    'ssh://h:99999',
    'ssh://h;id',
    'ssh://h/path',
  ]
  for (const text of bad) assert.throws(() => parseTarget(text), /neither the path/, text)
})

test('--context and `use` choose the gateway; OGW_SOCKET beats `use`, --context beats both', async () => {
  await using a = await startFakeAdmin({
    names: () => ({ workers: [], models: [] }),
    status: () => ({ ...fleet.status, host: 'a' }),
  })
  await using b = await startFakeAdmin({ status: () => ({ ...fleet.status, host: 'b' }) })
  const hostOf = async (line: string, env: Record<string, string> = {}): Promise<string> => {
    const ran = await ogw(`${line} --json`, env)
    assert.equal(ran.code, 0, ran.stderr)
    return (JSON.parse(ran.stdout) as { host: string }).host
  }
  await ogw(`context add a ${a.socket}`)
  await ogw(`context add b ${b.socket}`)
  await ogw('context use a')
  assert.equal(await hostOf('status'), 'a')
  assert.equal(await hostOf('status', { OGW_SOCKET: b.socket }), 'b')
  assert.equal(await hostOf('--context a status', { OGW_SOCKET: b.socket }), 'a')
  assert.equal(await hostOf('status --context b'), 'b')
})

const MAIN = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')

/** A program named ssh that notes its arguments and becomes what stands on the far side. */
function fakeSsh(script: string): Record<string, string> {
  const bin = path.join(root, `bin-${count}`)
  mkdirSync(bin)
  writeFileSync(path.join(bin, 'ssh'), `#!/bin/sh\nprintf '%s\\n' "$@" > ${bin}/args\n${script}\n`)
  chmodSync(path.join(bin, 'ssh'), 0o755)
  return { PATH: `${bin}:${process.env['PATH']}`, BIN: bin }
}

test('an ssh context speaks with the gateway over there through admin-proxy', async () => {
  await using admin = await startFakeAdmin({
    'workers.list': () => fleet.workers,
    'placement.allow': () => fleet.change,
    'placement.undo': () => fleet.change,
  })
  const env = fakeSsh(`OGW_SOCKET=${admin.socket} exec ${process.execPath} ${MAIN} admin-proxy`)
  await ogw('context add box ssh://me@gpu-box', env)
  const listed = await ogw('--context box workers --json', env)
  assert.equal(listed.code, 0, listed.stderr)
  assert.deepEqual(JSON.parse(listed.stdout), fleet.workers)
  assert.equal(
    readFileSync(path.join(env['BIN'] ?? '', 'args'), 'utf8'),
    '-T\n-l\nme\n--\ngpu-box\nogw admin-proxy\n',
  )
  const changed = await ogw('--context box placement allow qwen3:8b node-1', env)
  assert.equal(changed.code, 0, changed.stderr)
  assert.equal(admin.asked.at(-1)?.operation, 'placement.allow')
})

test('what goes wrong with ssh is said: no such program, no way in, no gateway there', async () => {
  await ogw('context add box ssh://me@gpu-box')
  const none = await ogw('--context box status', { PATH: '/nonexistent' })
  assert.equal(none.code, 4)
  assert.match(none.stderr, /there is no ssh command/)

  const denied = await ogw(
    '--context box status',
    fakeSsh('echo "Permission denied (publickey)." >&2; exit 255'),
  )
  assert.equal(denied.code, 4)
  assert.match(denied.stderr, /Permission denied \(publickey\)[^]*ssh:\/\/me@gpu-box/)
  assert.equal(denied.stdout, '')
})

test('no gateway over there is said by the one over there', async () => {
  await ogw('context add box ssh://me@gpu-box')
  const env = fakeSsh(`OGW_SOCKET=${root}/none.sock exec ${process.execPath} ${MAIN} admin-proxy`)
  const ran = await ogw('--context box status', env)
  assert.equal(ran.code, 4)
  assert.match(ran.stderr, /none\.sock/)
})
