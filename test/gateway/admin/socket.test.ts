import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
} from 'node:fs'
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import type { TestContext } from 'node:test'
import { claimSocket } from '../../../src/gateway/admin/socket.ts'
import { StartError } from '../../../src/gateway/start-error.ts'

let dir: string
let file: string
const servers: Server[] = []
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ogw-sock-'))
  file = path.join(dir, 'run', 'admin.sock')
})
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => closed(server)))
  rmSync(dir, { recursive: true, force: true })
})

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => void server.close(() => resolve()))
}

async function claim(at = file) {
  const server = createServer((socket) => {
    socket.on('error', () => {}) // a second gateway only knocks and leaves
    socket.end('hello')
  })
  servers.push(server)
  return { server, ...(await claimSocket(server, { path: at, mode: 0o660 })) }
}

async function answers(): Promise<boolean> {
  const socket = connect(file)
  socket.on('error', () => {}) // told by once() below
  try {
    const [data] = (await once(socket, 'data')) as [Buffer]
    return data.toString() === 'hello'
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** What a gateway leaves that was killed: a name of a socket on which nobody listens. */
async function leaveStale(): Promise<void> {
  mkdirSync(path.dirname(file), { recursive: true })
  const server = createServer().listen(path.join(dir, 'dying'))
  await once(server, 'listening')
  linkSync(path.join(dir, 'dying'), file)
  lutimesSync(file, 1, 1)
  await closed(server)
}

const refuses = (why: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StartError)
  assert.match(error.message, why)
  assert.match(error.message, /--socket, OGW_SOCKET or admin.socket/)
  return true
}

test('0660 in a folder of 0750, nothing beside it, gone after the end', async () => {
  const { release } = await claim()
  assert.equal(statSync(file).mode & 0o777, 0o660)
  assert.equal(statSync(path.dirname(file)).mode & 0o777, 0o750)
  assert.deepEqual(readdirSync(path.dirname(file)), ['admin.sock'])
  assert.ok(await answers())
  release()
  assert.ok(!existsSync(file))
})

suite('B156', () => {
  test('a live owner is left alone, and still answers', async () => {
    await claim()
    const { ino } = lstatSync(file)
    await assert.rejects(claim(), refuses(/another gateway is running on it/))
    assert.equal(lstatSync(file).ino, ino)
    assert.ok(await answers())
  })

  // A gateway that computes for half a second is not gone: the kernel takes the connection.
  test('an owner whose event loop is stuck is left alone', async () => {
    await claim()
    const script = `
      import { claimSocket } from ${JSON.stringify(new URL('../../../src/gateway/admin/socket.js', import.meta.url).href)}
      import { createServer } from 'node:net'
      await claimSocket(createServer(), { path: ${JSON.stringify(file)}, mode: 0o660 })
        .then(() => process.exit(0), (error) => { console.log(error.message); process.exit(7) })
    `
    // spawnSync blocks this process, and with it the owner, until the second one has ended.
    const second = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    })
    assert.equal(second.status, 7, second.stderr)
    assert.match(second.stdout, /another gateway is running/)
    assert.ok(await answers())
  })

  test('a stale socket is cleared', async () => {
    await leaveStale()
    await claim()
    assert.ok(await answers())
    assert.deepEqual(readdirSync(path.dirname(file)), ['admin.sock'])
  })

  test('of two that find a stale socket at once, exactly one gets it', async () => {
    for (let round = 0; round < 5; round += 1) {
      await leaveStale()
      const results = await Promise.allSettled([claim(), claim(), claim()])
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.ok(await answers())
      await Promise.all(servers.splice(0).map((server) => closed(server)))
      rmSync(file)
    }
  })

  const others: [string, RegExp, () => void][] = [
    ['a file', /a file is there/, () => writeFileSync(file, 'precious')],
    ['a folder', /a folder is there/, () => mkdirSync(file)],
    [
      'a symbolic link to a file',
      /a symbolic link is there/,
      () => {
        writeFileSync(path.join(dir, 'target'), 'precious')
        symlinkSync(path.join(dir, 'target'), file)
      },
    ],
  ]
  for (const [name, why, make] of others) {
    test(`${name} at the path is refused and left as it is`, async () => {
      mkdirSync(path.dirname(file), { recursive: true })
      make()
      const before = lstatSync(file).ino
      await assert.rejects(claim(), refuses(why))
      assert.equal(lstatSync(file).ino, before)
      if (name === 'a file') assert.equal(readFileSync(file, 'utf8'), 'precious')
    })
  }

  test('a socket or a folder of another user is refused', async (t) => {
    if (!isRoot(t)) return
    await leaveStale()
    chownSync(file, 65_534, 65_534)
    await assert.rejects(claim(), refuses(/belongs to another user \(uid 65534\)/))
    assert.ok(lstatSync(file).isSocket())
    rmSync(file)
    chownSync(path.dirname(file), 65_534, 65_534)
    await assert.rejects(claim(), refuses(/the folder belongs to another user/))
  })
})

// Node removes the name it has bound when it closes; that must never be the name of a successor.
test('ending a gateway leaves the socket of its successor', async () => {
  const first = await claim()
  rmSync(file)
  await claim()
  first.release()
  await closed(first.server)
  servers.shift()
  assert.ok(await answers())
})

test('a path that the system would cut is refused with the numbers', async () => {
  const long = path.join(dir, 'x'.repeat(120), 'admin.sock')
  await assert.rejects(claim(long), /bytes long, the system allows 10[37]/)
})

test('a folder that cannot be made is said with what to do', async () => {
  writeFileSync(path.join(dir, 'run'), '')
  await assert.rejects(claim(), refuses(/cannot make the folder|ENOTDIR|not a directory/i))
})

function isRoot(t: TestContext): boolean {
  if (process.getuid?.() === 0) return true
  if (process.env['CI'] !== undefined) assert.fail('root is needed in CI')
  t.skip('needs root to give a file away')
  return false
}
