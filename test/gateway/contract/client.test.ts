import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { duplexPair } from 'node:stream'
import { systemClock } from '../../../src/gateway/clock.ts'
import { AdminClient } from '../../../src/gateway/contract/client.ts'
import { AdminError } from '../../../src/gateway/contract/faults.ts'
import { socketTransport, streamTransport } from '../../../src/gateway/contract/transport.ts'
import { VERSION } from '../../../src/gateway/contract/version.ts'
import { startAdminRig } from '../../support/admin-rig.ts'
import { rejectionOf } from '../../support/rejection.ts'
import { until } from '../../support/until.ts'

let dir: string
beforeEach(() => void (dir = mkdtempSync(path.join(tmpdir(), 'ogw-client-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const at = (...paths: string[]): AdminClient =>
  new AdminClient({ transport: socketTransport(paths), actor: 'anna@pts/1' })

async function codeOf(asked: Promise<unknown>): Promise<AdminError> {
  const error = await rejectionOf(asked)
  assert.ok(error instanceof AdminError, String(error))
  return error
}

/** A gateway that is not ours: it answers what the test says. */
async function scripted(
  answer: (res: ServerResponse) => void,
): Promise<{ file: string; server: Server }> {
  const file = path.join(dir, 'scripted.sock')
  const server = createServer((_req, res) => answer(res)).listen(file)
  await once(server, 'listening')
  return { file, server }
}

test('the version is that of the package', () => {
  const text = readFileSync(path.join(import.meta.dirname, '../../../../package.json'), 'utf8')
  assert.equal((JSON.parse(text) as { version: string }).version, VERSION)
})

test('a client that only reads asks, plans, and changes nothing', async () => {
  await using rig = await startAdminRig()
  const transport = socketTransport([rig.socket])
  const client = new AdminClient({ transport, actor: 'anna@pts/1', readOnly: true })
  const pattern = 'qwen3:8b'
  const workers = ['node-2']
  assert.equal(
    (await client.call('placement.deny', { pattern, workers, dry_run: true })).changed,
    true,
  )
  for (const change of [
    client.call('placement.deny', { pattern, workers }),
    client.call('keys.create', { tenant: 'default' }),
    client.call('credits.reset', { tenant: 'default' }),
    client.stream('models.pull', { model: 'a:1' }, new AbortController().signal).next(),
  ]) {
    // oxlint-disable-next-line no-await-in-loop -- one refusal after the other
    const { code, message } = await codeOf(change)
    assert.deepEqual([code, message], ['refused', 'this console only reads (--read-only)'])
  }
  assert.deepEqual(await client.call('placement.history', {}), [])
  assert.deepEqual(await client.call('keys.list', {}), [])
  client.close()
})

// A command starts in 100 ms: what it loads to ask one question must stay small.
test('the client loads neither zod nor undici', () => {
  const client = new URL('../../../src/gateway/contract/client.js', import.meta.url).href
  const transport = new URL('../../../src/gateway/contract/transport.js', import.meta.url).href
  const script = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (/^(zod|undici)/.test(name)) { console.log(name); process.exit(1) }
      return next(name, context)
    } })
    await import(${JSON.stringify(client)}); await import(${JSON.stringify(transport)})
  `
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  assert.equal(child.status, 0, child.stdout + child.stderr)
})

suite('no gateway', () => {
  test('every socket that was tried is named with its reason, and how to start one', async () => {
    const file = path.join(dir, 'a-file')
    writeFileSync(file, '')
    const missing = path.join(dir, 'missing.sock')
    const { code, message } = await codeOf(at(missing, file).call('health', {}))
    assert.equal(code, 'not_running')
    assert.ok(message.includes(`${missing} (no such socket)`), message)
    assert.ok(message.includes(`${file} (`), message)
    assert.match(message, /ogw serve/)
  })

  test('the first that takes a connection is used, and kept', async () => {
    await using rig = await startAdminRig()
    const client = at(path.join(dir, 'missing.sock'), rig.socket)
    await client.call('health', {})
    await rig.stop()
    const { message } = await codeOf(client.call('health', {}))
    assert.ok(message.includes(rig.socket) && !message.includes('missing.sock'), message)
  })

  test('a gateway that breaks off is not one that does not run', async () => {
    const { file, server } = await scripted((res) => res.destroy())
    assert.equal((await codeOf(at(file).call('health', {}))).code, 'disconnected')
    server.close()
  })

  test('an answer that is cut off, or is no JSON', async () => {
    const answers: ((res: ServerResponse) => void)[] = [
      (res) => {
        res.writeHead(200, { 'content-length': 100 })
        res.write('{"healthy"')
        setImmediate(() => res.destroy())
      },
      (res) => res.end('<html>'),
    ]
    for (const answer of answers) {
      const { file, server } = await scripted(answer)
      assert.equal((await codeOf(at(file).call('health', {}))).code, 'disconnected')
      await new Promise((resolve) => server.close(resolve))
    }
  })
})

test('skew is tolerated and said: a newer gateway with fields and faults of its own', async () => {
  let fail = false
  const { file, server } = await scripted((res) => {
    res.writeHead(fail ? 418 : 200, { 'x-ogw-version': '9.9.9' })
    const error = { code: 'too_new', message: 'new words', details: {} }
    res.end(JSON.stringify(fail ? { error } : { healthy: true, problems: [], mood: 'good' }))
  })
  const client = at(file)
  assert.equal(client.skew, undefined)
  assert.equal((await client.call('health', {})).healthy, true)
  assert.match(client.skew ?? '', /9\.9\.9.*this program is 0\./)
  fail = true
  assert.equal((await codeOf(client.call('health', {}))).message, 'new words')
  server.close()
})

suite('watch', () => {
  test('the snapshot, then each change as a whole state whose unchanged rows are the same', async () => {
    await using rig = await startAdminRig({
      clock: systemClock,
    })
    const seen: unknown[][] = []
    let alive = 0
    const leave = new AbortController()
    const watching = rig.client.watch(
      {
        onSnapshot: ({ workers }) => void seen.push(workers),
        onAlive: () => void (alive += 1),
        onError: (error) => assert.fail(error),
      },
      leave.signal,
    )
    await until(() => seen.length === 1, { what: 'the snapshot' })
    await rig.client.call('workers.drain', { workers: ['node-2'] })
    await until(() => seen.length > 1, { what: 'the change' })
    assert.equal(seen[1]?.[0], seen[0]?.[0])
    assert.notDeepEqual(seen[1]?.[1], seen[0]?.[1])
    assert.ok(alive >= 2)
    leave.abort()
    await watching
  })

  test('a gateway that dies is told once', async () => {
    const { file, server } = await scripted((res) => {
      res.writeHead(200)
      res.write('{"type":"heartbeat","mono":1}\n{"type":"heart')
      setImmediate(() => res.destroy())
    })
    const errors: string[] = []
    const beats: number[] = []
    await at(file).watch(
      {
        onSnapshot: () => assert.fail('there was none'),
        onAlive: (mono) => void beats.push(mono),
        onError: ({ code }) => void errors.push(code),
      },
      new AbortController().signal,
    )
    assert.deepEqual([errors, beats], [['disconnected'], [1]])
    server.close()
  })

  test('a stream that fails in the middle ends with the gateway’s own words', async () => {
    const { file, server } = await scripted((res) => {
      res.writeHead(200)
      res.end('{"error":{"code":"failed","message":"the disk is full","details":{}}}\n')
    })
    const lines = at(file).stream('models.pull', { model: 'a:1' }, new AbortController().signal)
    assert.equal((await codeOf(lines.next())).message, 'the disk is full')
    server.close()
  })
})

suite('over a stream, as with ssh', () => {
  // `ogw admin-proxy` joins its stdio and the socket; one such process serves many questions.
  test('calls, changes and a watch, over few connections', async () => {
    await using rig = await startAdminRig()
    let opened = 0
    const transport = streamTransport('ssh://box', () => {
      opened += 1
      const [near, far] = duplexPair()
      const socket = connect(rig.socket)
      far.pipe(socket).pipe(far)
      socket.on('error', () => far.destroy())
      return near
    })
    const client = new AdminClient({ transport, actor: 'anna@box' })
    for (let n = 0; n < 5; n += 1) await client.call('health', {})
    const input = { pattern: 'qwen3:8b', workers: ['node-2'] }
    assert.equal((await client.call('placement.deny', input)).changed, true)
    assert.equal(opened, 1, 'one connection is used again')

    const leave = new AbortController()
    const snapshot = Promise.withResolvers<number>()
    const watching = client.watch(
      {
        onSnapshot: ({ placement }) => snapshot.resolve(placement.revision),
        onError: (error) => snapshot.reject(error),
      },
      leave.signal,
    )
    assert.equal(await snapshot.promise, 1)
    await client.call('health', {})
    assert.equal(opened, 2)
    leave.abort()
    await watching
    client.close()
  })

  test('a process that ends at once is "not running", with the place', async () => {
    const transport = streamTransport('ssh://box', () => {
      const child = spawn(process.execPath, ['-e', ''], { stdio: ['pipe', 'pipe', 'ignore'] })
      const [near, far] = duplexPair()
      child.stdin.on('error', () => {})
      far.pipe(child.stdin)
      child.stdout.pipe(far)
      return near
    })
    const client = new AdminClient({ transport, actor: 'anna' })
    const { code, message } = await codeOf(client.call('health', {}))
    assert.equal(code, 'not_running')
    assert.match(message, /ssh:\/\/box/)
    client.close()
  })
})
