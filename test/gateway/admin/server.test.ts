import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { suite, test } from 'node:test'
import { VERSION } from '../../../src/gateway/contract/version.ts'
import { TooManyKeys } from '../../../src/gateway/state/keys-state.ts'
import { startAdminRig } from '../../support/admin-rig.ts'
import { until } from '../../support/until.ts'

interface Raw {
  status: number | undefined
  version: string | string[] | undefined
  code: string
  message: string
}

async function raw(
  socketPath: string,
  line: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<Raw> {
  const [method = '', path = ''] = line.split(' ')
  const outgoing = request({ socketPath, method, path, headers })
  outgoing.on('error', () => {}) // a body that is refused half-way resets the rest of it
  outgoing.end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  const text = (await answer.toArray()).join('')
  const { error } = JSON.parse(text) as { error?: { code: string; message: string } }
  const version = answer.headers['x-ogw-version']
  return {
    status: answer.statusCode,
    version,
    code: error?.code ?? '',
    message: error?.message ?? '',
  }
}

suite('bad input says the path and what to do', () => {
  const cases: [string, string | undefined, RegExp][] = [
    ['POST /v1/placement/allow', '{"pattern":"a:1"}', /placement\.allow: workers:/],
    ['POST /v1/placement/allow', '{"pattern":"a:1","workers":["w"],"forse":true}', /forse/],
    ['POST /v1/placement/allow', '{"pattern":', /not JSON/],
    ['POST /v1/placement/allow', '[]', /placement\.allow/],
    ['POST /v1/placement/mode', '{"workers":["w"],"mode":"blacklist"}', /mode:/],
    ['POST /v1/placement/undo', '{"id":"7"}', /id:/],
    ['GET /v1/events?limit=ten', undefined, /limit:/],
    ['GET /v1/events?limit=5000', undefined, /limit:/],
    ['GET /v1/workers?worker=w', undefined, /worker/],
    ['GET /v1/explain?model=a:1&model=b:1', undefined, /twice/],
    ['GET /v1/explain?model=a:1&tools=yes', undefined, /tools:/],
  ]
  for (const [line, body, why] of cases) {
    test(`${line} ${body ?? ''}`, async () => {
      await using rig = await startAdminRig()
      const { status, code, message } = await raw(rig.socket, line, body)
      assert.deepEqual([status, code], [400, 'invalid_input'], message)
      assert.match(message, why)
    })
  }

  test('a body without end is cut off at a bound', async () => {
    await using rig = await startAdminRig()
    const body = 'x'.repeat(17 * 1024 * 1024)
    const { status, message } = await raw(rig.socket, 'POST /v1/placement/allow', body)
    assert.equal(status, 400)
    assert.match(message, /larger than/)
    assert.equal((await raw(rig.socket, 'GET /v1/health')).status, 200)
  })
})

test('numbers and flags of a query are read as what they are', async () => {
  await using rig = await startAdminRig()
  const { status } = await raw(rig.socket, 'GET /v1/explain?model=a:1&tools=true&ctx=8192')
  assert.equal(status, 200)
})

test('an operation of a newer console is refused by name; the version is told both ways', async () => {
  await using rig = await startAdminRig()
  const { status, version, code, message } = await raw(rig.socket, 'POST /v1/teleport')
  assert.deepEqual([status, version, code], [404, VERSION, 'not_found'])
  assert.match(message, /POST \/v1\/teleport.*newer/)
})

test('who asks is a claim: cleaned, cut, and unknown where there is none', async () => {
  await using rig = await startAdminRig()
  const drain = (worker: string, actor?: string) =>
    raw(rig.socket, 'POST /v1/workers/drain', JSON.stringify({ workers: [worker] }), {
      ...(actor !== undefined && { 'x-ogw-actor': actor }),
    })
  await drain('node-1', encodeURIComponent('jörg@pts/1\u001b[2J\n'))
  await drain('node-2')
  const audit = await rig.client.call('audit.list', {})
  assert.deepEqual(
    audit.map(({ actor }) => actor),
    ['unknown', 'jörg@pts/1[2J'],
  )
})

test('a bug is a 500 that tells nothing, and the gateway lives on', async () => {
  await using rig = await startAdminRig({
    explain: () => {
      throw new TypeError('secret detail')
    },
  })
  const { status, code, message } = await raw(rig.socket, 'GET /v1/explain?model=a:1')
  assert.deepEqual([status, code], [500, 'internal'])
  assert.doesNotMatch(message, /secret/)
  assert.match(String(rig.bugs[0]), /secret detail/)
  assert.equal((await raw(rig.socket, 'GET /v1/health')).status, 200)
})

test('a full list of keys is refused with its reason, and is no bug', async () => {
  await using rig = await startAdminRig()
  rig.keys.create = () => Promise.reject(new TooManyKeys('there are 100000 keys already'))
  const made = await raw(rig.socket, 'POST /v1/keys/create', '{"tenant":"default"}')
  assert.deepEqual([made.code, made.message], ['refused', 'there are 100000 keys already'])
  assert.deepEqual(rig.bugs, [])
})

suite('models', () => {
  const workers = ['node-1', 'node-2']

  test('one worker that fails does not stop the others', async () => {
    await using rig = await startAdminRig({
      actions: {
        remove: async ({ name }) => {
          if (name === 'node-1') throw new Error('model "qwen3:8b" is in use')
        },
      },
    })
    const outcomes = await rig.client.call('models.rm', { model: 'qwen3:8b', workers })
    assert.deepEqual(
      outcomes.map(({ ok, changed, message }) => [ok, changed, message]),
      [
        [false, false, 'model "qwen3:8b" is in use'],
        [true, true, 'removed'],
      ],
    )
  })

  test('load and pull are refused where placement blocks the model', async () => {
    const asked: string[] = []
    await using rig = await startAdminRig({
      actions: {
        load: async ({ name }) => void asked.push(`load ${name}`),
        async *pull({ name }) {
          asked.push(`pull ${name}`)
          yield {
            status: 'success',
            digest: undefined,
            completedBytes: undefined,
            totalBytes: undefined,
          }
        },
      },
    })
    await rig.client.call('placement.deny', { pattern: 'qwen3:8b', workers: ['node-2'] })
    const loads = await rig.client.call('models.load', { model: 'qwen3:8b', workers: ['node-2'] })
    assert.match(loads[0]?.message ?? '', /placement blocks it there: placement rule deny qwen3:8b/)
    const lines = rig.client.stream(
      'models.pull',
      { model: 'qwen3:8b', workers },
      AbortSignal.any([]),
    )
    const ends: string[] = []
    for await (const { worker, done, error } of lines) if (done) ends.push(`${worker} ${error}`)
    assert.deepEqual(ends.toSorted(), [
      'node-1 null',
      'node-2 placement blocks it there: placement rule deny qwen3:8b',
    ])
    assert.deepEqual(asked, ['pull node-1'])
  })

  test('who hangs up during a pull ends it', async () => {
    const ended = Promise.withResolvers<void>()
    await using rig = await startAdminRig({
      actions: {
        async *pull(_worker, _model, signal) {
          try {
            for (;;) {
              yield { status: 'pulling', digest: 'd', completedBytes: 1, totalBytes: 2 }
              await new Promise((resolve) => setImmediate(resolve))
              if (signal.aborted) throw new Error('the caller left')
            }
          } finally {
            ended.resolve()
          }
        },
      },
    })
    const leave = new AbortController()
    const pulling = rig.client.stream('models.pull', { model: 'new:1', workers }, leave.signal)
    for await (const { status } of pulling) {
      assert.equal(status, 'pulling')
      break
    }
    await ended.promise
    await until(
      async () => (await rig.client.call('audit.list', {}))[0]?.operation === 'models.pull',
      {
        what: 'the pull to be audited',
      },
    )
  })
})

test('cancel: told to the proxy with who did it, and a request that ended says so', async () => {
  await using rig = await startAdminRig()
  rig.active.push({
    id: 'r1',
    dialect: 'ollama',
    path: '/api/chat',
    model: 'qwen3:8b',
    tenant: 'default',
    actor: '',
    receivedAt: 0,
    phase: 'streaming',
    worker: 'node-1',
    attempts: 1,
    grantedAt: 1,
    firstByteAt: 2,
    queueMs: 1,
    chunks: () => 3,
  } as (typeof rig.active)[number])
  await rig.client.call('requests.cancel', { id: 'r1', dry_run: true })
  assert.deepEqual(rig.cancelled, [])
  assert.equal((await rig.client.call('requests.cancel', { id: 'r1' })).cancelled, true)
  assert.deepEqual(rig.cancelled, ['r1 anna@pts/1'])
  await assert.rejects(rig.client.call('requests.cancel', { id: 'r2' }), { code: 'not_found' })
})

test('a stop ends consoles and removes the socket', async () => {
  const rig = await startAdminRig()
  const ended = Promise.withResolvers<string>()
  const watching = rig.client.watch(
    { onSnapshot: () => {}, onError: ({ code }) => ended.resolve(code) },
    new AbortController().signal,
  )
  await until(() => rig.client.gatewayVersion, { what: 'the watch to begin' })
  await rig.stop()
  assert.equal(await ended.promise, 'disconnected')
  await watching
  await assert.rejects(rig.client.call('health', {}), { code: 'not_running' })
})
