// Paths that lead nowhere, and orders that clients may not give: refused with a reason, by the
// gateway itself, and without a word to a worker.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { suite, test } from 'node:test'
import { loadConfig } from '../../../src/gateway/config/load.ts'
import { startRig } from '../../support/rig.ts'

// B091: create asks HEAD, uploads a blob, then creates; three requests that have to meet one
// worker. Here all of them are refused, the same way each time, the upload without being kept.
test('the requests of ollama create are refused alike, and the upload is not buffered', async () => {
  await using rig = await startRig({ workers: [{}, {}] })
  const digest = `/api/blobs/sha256:${'0'.repeat(64)}`
  for (let round = 0; round < 3; round += 1) {
    const head = await fetch(rig.url + digest, { method: 'HEAD' })
    assert.equal(head.status, 403)
    assert.equal(await head.text(), '')
    const before = process.memoryUsage().arrayBuffers
    let sent = 0
    let most = 0
    const upload = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const req = request(rig.url + digest, { method: 'POST', agent: false }, (res) => {
        let text = ''
        res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        res.on('end', () => resolve({ status: res.statusCode ?? 0, text }))
      })
      req.on('error', reject)
      const piece = Buffer.alloc(256 * 1024)
      const more = (): void => {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
        sent += piece.length
        if (sent > 30 * 1024 * 1024) req.end()
        else if (req.write(piece)) setImmediate(more)
        else req.once('drain', more)
      }
      more()
    })
    assert.equal(upload.status, 403)
    assert.match(upload.text, /^\{"error":"[^"]*(?:scope|not allowed)/)
    assert.ok(most < 24 * 1024 * 1024, `${most} bytes were kept of the upload`)
    const create = await rig.post('/api/create', { model: 'mine', files: { 'a.gguf': 'sha256:0' } })
    assert.equal(create.status, 403)
  }
  for (const sim of rig.sims) {
    assert.deepEqual(
      Object.keys(sim.record.counts()).filter((what) => !what.startsWith('GET ')),
      [],
    )
  }
})

/** What clients ask for whose base URL is one step off, and where it should lead. */
const ASTRAY: readonly [string, RegExp][] = [
  ['/v1/v1/messages', /^\{"type":"error","error":\{"type":"not_found_error","message":"[^}]*\/v1/],
  ['/v1/v1/chat/completions', /"message":"[^"]*\/v1/],
  ['/v1/api/generate', /^\{"error":"[^"]*\/api\/generate/],
  ['/v1/api/chat', /^\{"error":"[^"]*\/api\/chat/],
  ['/api/api/chat', /^\{"error":"[^"]*\/api\/chat/],
  ['/api/v1/chat/completions', /"message":"[^"]*\/v1\/chat\/completions/],
  ['/chat/completions', /"message":"[^"]*\/v1/],
  ['/embeddings', /"message":"[^"]*\/v1/],
  ['/responses', /"message":"[^"]*\/v1/],
  ['/messages', /"type":"not_found_error","message":"[^"]*\/v1/],
  ['/generate', /^\{"error":"[^"]*\/api/],
]

// B093: 404 with a hint in the dialect that the client speaks; never passed on, never redirected.
suite('a base URL that is one step off', { concurrency: true }, () => {
  for (const [path, hint] of ASTRAY) {
    test(path, async () => {
      await using rig = await startRig()
      const answer = await rig.post(path, { model: 'qwen3:8b' }, { redirect: 'manual' })
      const text = await answer.text()
      assert.equal(answer.status, 404, text)
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      assert.match(text, hint)
      assert.ok(
        Object.keys(rig.sims[0]?.record.counts() ?? {}).every((what) => what.startsWith('GET ')),
      )
    })
  }
})

// B093: the same mistake on the other side is said when the config is read.
test('a worker URL that ends in /v1 or /api is warned of', () => {
  for (const end of ['/v1', '/api', '/v1/', '/ollama/api']) {
    const loaded = loadConfig(
      JSON.stringify({ workers: [{ name: 'w', url: `http://w1:1${end}` }] }),
      {},
    )
    assert.ok(loaded.ok)
    assert.equal(loaded.warnings.length, 1, end)
    assert.match(loaded.warnings[0]?.path ?? '', /workers\[0\]\.url/)
  }
  const fine = loadConfig('{"workers":[{"name":"w","url":"http://w1:1/ollama"}]}', {})
  assert.deepEqual(fine.warnings, [])
})
