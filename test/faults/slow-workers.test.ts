// Slowness is no failure: nobody's default ends a cold load, a long prefill or a long stream. What
// really never ends, ends within a bound.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { readSource, sourceFiles } from '../support/imports.ts'
import { startRig } from '../support/rig.ts'
import { ask, chatBody } from '../support/sim-client.ts'
import { until } from '../support/until.ts'

/** Values of undici's own symbols on a dispatcher, by their description. */
function optionsOf(dispatcher: object): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const symbol of Object.getOwnPropertySymbols(dispatcher)) {
    found.set(symbol.description ?? '', Reflect.get(dispatcher, symbol))
  }
  return found
}

// B063: undici ends a request without headers after 300 seconds, and one without body bytes too,
// unless it is told otherwise. Here is what the clients of a running gateway really hold.
test('no connection to a worker has a time limit of the library', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'], tokens: 30, tokenMs: 50 }] })
  const asked = ask(rig.url, '/api/chat', chatBody('alpha:8b'))
  await asked.headers
  const { fleet, pools } = rig.gateway.parts
  const worker = fleet.worker('node-1')
  assert.ok(worker)
  const pool = pools.poolFor(worker, 0)
  const clients = optionsOf(pool).get('clients') as object[]
  const fresh = pools.freshFor(worker, worker.addresses[0]!)
  assert.ok(clients.length > 0, 'the pool has its client')
  for (const client of [...clients, fresh]) {
    const options = optionsOf(client)
    assert.equal(options.get('headers timeout'), 0)
    assert.equal(options.get('body timeout'), 0)
  }
  await fresh.close()
  await asked.answer
})

// B063: the same for every place that speaks to a worker, by its source: whoever uses undici says
// both limits, nobody uses the global fetch, whose limits cannot be set.
test('every use of undici names its time limits', () => {
  const sources = sourceFiles().filter(
    (file) => file.startsWith('gateway/') || file.startsWith('src/gateway/'),
  )
  assert.ok(sources.length > 50)
  for (const file of sources) {
    const text = readSource(file)
    assert.doesNotMatch(text, /(?<![.\w])fetch\(/, `${file} uses the global fetch`)
    if (!/new (?:Pool|Client|Agent)\(|\.dispatch\(|\.request\(\{/.test(text)) continue
    if (!/from 'undici'/.test(text)) continue
    assert.match(text, /headersTimeout: /, file)
    assert.match(text, /bodyTimeout: /, file)
  }
})

// B063, B067: and the values that an operator can set are in the config's page, each with its
// default; the 300 seconds of the libraries are not among them.
test('the waits of a request are documented, with defaults that a cold load fits into', () => {
  const page = readFileSync('docs/config.md', 'utf8')
  const defaults = new Map(
    [...page.matchAll(/^\| `(upstream\.[a-z_.]+)` \| [^|]* \| `"?([^`"]+)"?` \|/gm)].map((row) => [
      row[1],
      row[2],
    ]),
  )
  assert.equal(defaults.get('upstream.first_byte_timeout'), '15m')
  assert.equal(defaults.get('upstream.first_byte_grace'), '10s')
  assert.equal(defaults.get('upstream.stream_idle_timeout'), '5m')
  assert.equal(defaults.get('upstream.connect_timeout'), '2s')
})

// B067: every limit of the config is a second, the stream takes nearly three. It is alive all the time.
suite('a healthy stream is not cut, however long it takes', { concurrency: true }, () => {
  for (const { path, body, saysWhole } of STREAM_REQUESTS) {
    test(path, async () => {
      await using rig = await startRig({
        workers: [{ models: ['alpha:8b'], tokens: 14, tokenMs: 200 }],
        config: {
          admission: { max_wait: '1s', heartbeat: '1s' },
          upstream: {
            connect_timeout: '1s',
            first_byte_grace: '1s',
            first_byte_timeout: '1s',
            stream_idle_grace: '1s',
            stream_idle_timeout: '1s',
            retry_budget: '1s',
          },
        },
      })
      const answer = await rig.post(path, { model: 'alpha:8b', ...body, stream: true })
      const text = await answer.text()
      assert.ok(saysWhole(text), text.slice(-300))
      await rig.quiet()
      assert.equal(rig.log.find(({ event }) => event === 'request.done')?.['outcome'], 'ok')
    })
  }
})

// B067: the same for an answer that is not streamed and comes late: a probe that answers says that
// the worker lives, and only the documented cap ends the wait.
test('a late answer is waited for up to the documented cap, and no longer', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'] }],
    config: { upstream: { first_byte_grace: '200ms', first_byte_timeout: '2s' } },
  })
  const [sim] = rig.sims
  await sim?.faults.add({ kind: 'slow_headers', ms: 1_200, path: '/api/chat', times: 1 })
  const late = await rig.post('/api/chat', chatBody('alpha:8b', { stream: false }))
  assert.equal(late.status, 200, await late.text())
  await sim?.faults.add({ kind: 'silent', path: '/api/chat', times: 1 })
  const never = await rig.post('/api/chat', chatBody('alpha:8b', { stream: false }))
  assert.equal(never.status, 504)
  assert.match(await never.text(), /first_byte_timeout/)
  await until(() => rig.gateway.parts.fleet.worker('node-1')?.health.state === 'up')
})
