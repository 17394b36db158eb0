// The bridge between stdio and the socket: bytes unchanged, each direction ends by itself.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'

const MAIN = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')

async function withServer(onConnection: (socket: Socket) => void) {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-proxy-'))
  const file = path.join(folder, 'admin.sock')
  const server = createServer({ allowHalfOpen: true }, onConnection)
  await new Promise<void>((resolve) => server.listen(file, resolve))
  const child = spawn(process.execPath, [MAIN, 'admin-proxy', '--socket', file], {
    env: { PATH: process.env['PATH'], HOME: folder },
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return {
    child,
    exited,
    async [Symbol.asyncDispose]() {
      child.kill()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true })
    },
  }
}

test('an end of stdin lets the answer come through whole', async () => {
  const answer = Buffer.alloc(3_000_000, 'answer')
  await using rig = await withServer((socket) => {
    // The answer begins only after the question has ended.
    let question = ''
    socket.on('data', (chunk: Buffer) => (question += String(chunk)))
    socket.once('end', () => socket.end(question === 'question' ? answer : 'not that'))
  })
  const received = buffer(rig.child.stdout)
  rig.child.stdin.end('question')
  assert.ok((await received).equals(answer))
  assert.equal(await rig.exited, 0)
})

test('a gateway that hangs up ends the bridge although stdin is still open', async () => {
  await using rig = await withServer((socket) => socket.end('bye'))
  assert.equal(await text(rig.child.stdout), 'bye')
  assert.equal(await rig.exited, 0)
})

test('without a gateway it says so on stderr, and nothing else on stdout', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-proxy-'))
  const child = spawn(
    process.execPath,
    [MAIN, 'admin-proxy', '--socket', path.join(folder, 'none.sock')],
    {
      env: { PATH: process.env['PATH'], HOME: folder },
    },
  )
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  assert.deepEqual([out, code], ['', 4])
  assert.match(err, /none\.sock/)
  rmSync(folder, { recursive: true })
})
