// The real program in a process of its own: pipes, signals, and what a terminal would be needed for.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import type { Handlers } from '../../src/gateway/admin/handlers.ts'
import { startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'
import { run } from '../support/run-cli.ts'

const MAIN = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')
const folder = mkdtempSync(path.join(tmpdir(), 'ogw-process-'))
after(() => rmSync(folder, { recursive: true }))

const endless: Partial<Handlers> = {
  'events.follow': async function* (_input, { signal }) {
    while (!signal.aborted) {
      yield* fleet.events
      await new Promise((resolve) => setImmediate(resolve))
    }
  },
}

function shell(
  script: string,
  socket: string,
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn('sh', ['-c', script], {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      OGW_SOCKET: socket,
      OGW: `${process.execPath} ${MAIN}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return Promise.all([ended, text(child.stdout), text(child.stderr)]).then(([code, out, err]) => ({
    code,
    out,
    err,
  }))
}

test('a reader that has seen enough is no failure and no stack trace', async () => {
  await using admin = await startFakeAdmin(endless)
  const ran = await shell('{ $OGW events -f; echo "exit $?" >&2; } | head -n 1', admin.socket)
  assert.match(ran.out, /^2026-05-01T11:58:00Z error worker\.down/)
  assert.equal(ran.err, 'exit 0\n')
})

test('Ctrl-C ends what goes on with 130, without words', async () => {
  await using admin = await startFakeAdmin(endless)
  const child = spawn(process.execPath, [MAIN, 'events', '-f', '--json'], {
    env: { PATH: process.env['PATH'], HOME: folder, OGW_SOCKET: admin.socket },
  })
  const err = text(child.stderr)
  const ended = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  child.stdout.once('data', () => child.kill('SIGINT'))
  child.stdout.resume()
  assert.deepEqual(await ended, { code: 130, signal: null })
  assert.equal(await err, '')
})

test('without a terminal and with stdin closed every command works as it does with one', async () => {
  await using admin = await startFakeAdmin({ 'workers.list': () => fleet.workers })
  const ran = await shell('$OGW workers --json </dev/null', admin.socket)
  assert.deepEqual([ran.code, ran.err], [0, ''])
  assert.deepEqual(JSON.parse(ran.out), fleet.workers)
})

test('export goes into apply through a pipe', async () => {
  const document = { version: 1 as const, overrides: [] }
  await using admin = await startFakeAdmin({
    'placement.export': () => document,
    'placement.apply': () => ({ ...fleet.change, changes: [], id: null, message: 'no change' }),
  })
  const ran = await shell(
    '$OGW placement export | $OGW placement apply -f - --dry-run',
    admin.socket,
  )
  assert.deepEqual([ran.code, ran.out, ran.err], [0, 'no change\n', ''])
  assert.deepEqual(admin.asked.at(-1)?.input, { document, dry_run: true })
})

test('what cannot be undone is asked on a terminal', async () => {
  await using admin = await startFakeAdmin({
    'models.show': () => fleet.models[0]!,
    'models.rm': ({ workers }) =>
      workers.map((worker) => ({ worker, ok: true, changed: true, message: 'deleted' })),
  })
  const remove = (stdin: string) =>
    run(['models', 'rm', 'qwen3:8b', '--all'], { socket: admin.socket, terminal: 80, stdin })
  for (const answer of ['n\n', '\n', '', 'yikes\n']) {
    const ran = await remove(answer)
    assert.deepEqual([ran.code, ran.stdout], [1, ''], answer)
    assert.match(ran.stderr, /Delete qwen3:8b from node-1, рабочий-2, node-3\? \[y\/N\]/)
    assert.equal(admin.asked.at(-1)?.operation, 'models.show', 'nothing was deleted')
  }
  const ran = await remove('y\n')
  assert.equal(ran.code, 0)
  assert.equal(admin.asked.at(-1)?.operation, 'models.rm')
})

test('a gateway of another version is used, and the difference is said on stderr', async () => {
  const socket = path.join(folder, 'old.sock')
  const server = createServer((_req, res) => {
    res.setHeader('x-ogw-version', '0.0.9').end('[]')
  }).listen(socket)
  await new Promise((resolve) => server.once('listening', resolve))
  const ran = await run(['workers', '--json'], { socket })
  assert.deepEqual([ran.code, ran.stdout], [0, '[]\n'])
  assert.match(ran.stderr, /version 0\.0\.9/)
  await new Promise((resolve) => server.close(resolve))
})
