import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { keyFor } from '../../support/key-drafts.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig, RigOptions } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

async function managed(options: RigOptions = {}) {
  const rig = await startRig({
    workers: [
      { models: ['m:1b'], registry: 'available' },
      { models: ['n:1b'], registry: 'available' },
    ],
    ...options,
  })
  const { authorization } = await keyFor(rig, { scope: 'manage', denied_models: ['secret:*'] })
  return {
    rig,
    authorization,
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]()
    },
  }
}

const seenBy = (rig: Rig, path: string): number[] =>
  rig.sims.map((sim) => sim.record.requests({ path }).length)

function has(rig: Rig, worker: string, model: string): boolean {
  const inventory = rig.gateway.parts.fleet.worker(worker)?.inventory
  return inventory?.state === 'known' && inventory.models.has(model)
}

test('without the scope manage: 403 that says why, and no worker hears of it', async () => {
  await using rig = await startRig({ workers: [{ models: ['m:1b'] }] })
  for (const path of ['/api/pull', '/api/push', '/api/create', '/api/copy']) {
    const answer = await rig.post(path, { model: 'm:1b' })
    assert.equal(answer.status, 403)
    assert.match(await answer.text(), /scope \\"manage\\"/)
    assert.deepEqual(seenBy(rig, path), [0])
  }
})

// B090: a pull is for a worker that is named, live to its end, and no inference.
test('a pull goes to the worker that is named, tells its progress, and is listed at once', async () => {
  await using made = await managed()
  const { rig, authorization } = made
  const unsaid = await rig.post('/api/pull', { model: 'new:1b' }, { headers: { authorization } })
  assert.equal(unsaid.status, 400)
  assert.match(await unsaid.text(), /x-ogw-worker: node-1, node-2 or all/)
  const headers = { authorization, 'x-ogw-worker': 'NODE-2' }
  const pull = await rig.post('/api/pull', { model: 'new:1b' }, { headers })
  const text = await pull.text()
  assert.equal(pull.status, 200, text)
  assert.equal(pull.headers.get('x-ogw-worker'), 'node-2')
  assert.match(text, /"status":"success"\}\n$/)
  assert.deepEqual(seenBy(rig, '/api/pull'), [0, 1])
  await until(() => has(rig, 'node-2', 'new:1b'), { timeoutMs: 8000, what: 'the new model' })
  const heads = rig.sims[1]?.record.requests({ path: '/api/pull' })
  assert.ok(!JSON.stringify(heads).includes('ogw_'), 'no worker sees the key')
  const none = await rig.post(
    '/api/pull',
    { model: 'x:1b' },
    { headers: { authorization, 'x-ogw-worker': 'node-9' } },
  )
  assert.equal(none.status, 400)
})

test('a pull to all is told as one, and a copy and a delete reach all', async () => {
  await using made = await managed()
  const { rig, authorization } = made
  const headers = { authorization, 'x-ogw-worker': 'all' }
  const pull = await rig.post('/api/pull', { model: 'new:1b' }, { headers })
  const text = await pull.text()
  assert.equal(text.split('"success"').length - 1, 1, text)
  assert.deepEqual(seenBy(rig, '/api/pull'), [1, 1])
  const copy = await rig.post('/api/copy', { source: 'new:1b', destination: 'c:1b' }, { headers })
  assert.equal(copy.status, 200)
  const body = JSON.stringify({ model: 'm:1b' })
  const gone = await fetch(`${rig.url}/api/delete`, { method: 'DELETE', headers, body })
  await gone.text()
  assert.deepEqual(seenBy(rig, '/api/delete'), [1, 1])
  await until(() => !has(rig, 'node-1', 'm:1b'), { timeoutMs: 8000, what: 'the deletion' })
})

test("placement and the key's model list bind what is put on a disk, in every spelling", async () => {
  await using made = await managed({
    perWorker: { 'node-1': { model_placement: { denied_models: ['big:*'] } } },
  })
  const { rig, authorization } = made
  const headers = { authorization, 'x-ogw-worker': 'all' }
  const bodies: [path: string, body: string, status: number][] = [
    ['/api/pull', '{"model":"big:32b"}', 403],
    ['/api/pull', '{"name":"library/BIG:32b"}', 403],
    ['/api/pull', '{"model":"ok:1b","name":"big:32b"}', 403],
    ['/api/pull', '{"name":"ok:1b","NAME":"big:32b"}', 400],
    ['/api/create', '{"model":"big:32b","from":"m:1b"}', 403],
    ['/api/copy', '{"source":"m:1b","destination":"big:1b"}', 403],
    ['/api/pull', '{"model":"secret:1b"}', 403],
    ['/api/pull', '{', 400],
  ]
  for (const [path, body, status] of bodies) {
    const answer = await fetch(`${rig.url}${path}`, { method: 'POST', headers, body })
    assert.equal(answer.status, status, body)
    assert.match(((await answer.json()) as { error: string }).error, /./)
    assert.deepEqual(seenBy(rig, path), [0, 0], body)
  }
})

// B091: `ollama create` asks for a blob, uploads it and creates, all on one worker.
test('a blob of 30 MB is streamed through to the worker that is named', async () => {
  await using made = await managed()
  const { rig, authorization } = made
  const headers = { authorization, 'x-ogw-worker': 'node-2' }
  const blob = Buffer.alloc(30 * 1024 * 1024, 7)
  const url = `${rig.url}/api/blobs/sha256:${createHash('sha256').update(blob).digest('hex')}`
  const before = await fetch(url, { method: 'HEAD', headers })
  assert.equal(before.status, 404)
  assert.equal(await before.text(), '')
  const sent = await fetch(url, { method: 'POST', headers, body: blob })
  assert.equal(sent.status, 201, await sent.text())
  const after = await fetch(url, { method: 'HEAD', headers })
  assert.equal(after.status, 200)
  const bad = await fetch(`${rig.url}/api/blobs/..%2f..%2fapi`, { method: 'POST', headers })
  assert.equal(bad.status, 400)
})

test('a worker that is down is said to be', async () => {
  await using made = await managed({ workers: [{ url: 'http://127.0.0.1:1' }] })
  const { rig, authorization } = made
  const answer = await rig.post('/api/pull', { model: 'x:1b' }, { headers: { authorization } })
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /node-1/)
})

// B090: whoever leaves wants no pull any more; the worker would go on for hours.
test('a client that leaves stops the pull on the worker', async () => {
  const stopped = Promise.withResolvers<void>()
  const worker = createServer((req, res) => {
    if (req.url === '/api/pull') {
      res.writeHead(200, { 'content-type': 'application/x-ndjson' })
      res.write('{"status":"pulling manifest"}\n')
      res.once('close', () => stopped.resolve())
      return
    }
    res.end(JSON.stringify({ version: '0.33.0', models: [] }))
  })
  await new Promise<void>((resolve) => void worker.listen(0, '127.0.0.1', () => resolve()))
  const address = worker.address()
  assert.ok(typeof address === 'object' && address !== null)
  {
    await using made = await managed({ workers: [{ url: `http://127.0.0.1:${address.port}` }] })
    const { rig, authorization } = made
    const leave = new AbortController()
    const init = { headers: { authorization }, signal: leave.signal }
    const pull = await rig.post('/api/pull', { model: 'x:1b' }, init)
    assert.equal(pull.status, 200)
    assert.equal(rig.gateway.parts.scheduler.inFlight('node-1'), 0, 'a pull takes no slot')
    leave.abort()
    await stopped.promise
  }
  worker.closeAllConnections()
  worker.close()
})

test('a digest that is no percent-encoding is a bad request, not a bug', async () => {
  await using made = await managed()
  const { rig, authorization } = made
  const headers = { authorization, 'x-ogw-worker': 'node-1' }
  const answer = await rig.post('/api/blobs/sha256:%zz', {}, { headers })
  assert.equal(answer.status, 400)
})
