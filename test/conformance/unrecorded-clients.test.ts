// Clients that were neither installed nor recorded: what they send and need is written down from
// their sources and documentation, in test/fixtures/clients/unrecorded.json.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { checkAnswer, eventsOf, linesOf } from '../support/answer-checks.ts'
import { readUnrecordedClients, replay } from '../support/recorded-clients.ts'
import type { Answer, RecordedRequest } from '../support/recorded-clients.ts'
import type { Rig } from '../support/rig.ts'
import { MODEL, MODELS, QUICK_OVERFLOW, startStage } from './bench-of-clients.ts'

const INSERT = { name: 'insert:1b', capabilities: ['completion', 'insert'], context: 8192 }
const ACTIONS = readUnrecordedClients()

const stage = (): Promise<Rig> => {
  const worker = { models: [...MODELS, INSERT], slots: 4, tokens: 6, tokenMs: 1 }
  return startStage({ workers: [worker, worker] })
}

suite('clients from their documentation', () => {
  let rig: Rig
  before(async () => {
    rig = await stage()
  })
  after(() => rig[Symbol.asyncDispose]())

  for (const { client, requests } of ACTIONS) {
    test(client, async () => {
      for (const request of requests) {
        const answer = await replay(rig.port, request)
        const said = `${request.method} ${request.path}: ${answer.text.slice(0, 300)}`
        assert.equal(answer.status, request.status, said)
        checkAnswer(request, answer)
      }
      await rig.quiet()
    })
  }

  test('Codex: a version of at least 0.13.4, which VS Code wants at 0.6.4', async () => {
    const { version } = (await get(rig, '/api/version')).json<{ version: string }>()
    const [major = 0, minor = 0] = version.split('.').map(Number)
    assert.ok(major > 0 || minor >= 14, version)
  })

  test('Codex: context overflow as its code, before a stream has begun', async () => {
    const turn = requestOf('Codex: a turn')
    const answer = await replay(rig.port, withBody(turn, { input: QUICK_OVERFLOW }))
    assert.equal(answer.status, 400)
    const { error } = answer.json<{ error: { code: string } }>()
    assert.equal(error.code, 'context_length_exceeded')
  })

  test('Claude Code: context overflow in the words that make it compact', async () => {
    const turn = requestOf('Claude Code: a turn, streamed with tools')
    const messages = [{ role: 'user', content: QUICK_OVERFLOW }]
    const answer = await replay(rig.port, withBody(turn, { messages }))
    assert.equal(answer.status, 400)
    const { error } = answer.json<{ error: { type: string; message: string } }>()
    assert.equal(error.type, 'invalid_request_error')
    assert.match(error.message, /prompt is too long/)
  })

  test('Claude Code: tokens are counted here, and no worker is asked', async () => {
    for (const sim of rig.sims) sim.record.reset()
    const answer = await replay(rig.port, requestOf('Claude Code: count_tokens'))
    assert.ok(answer.json<{ input_tokens: number }>().input_tokens > 0)
    const posted = rig.sims
      .flatMap((sim) => sim.record.requests())
      .filter(({ path }) => path !== '/api/version' && path !== '/api/tags' && path !== '/api/ps')
    assert.deepEqual(posted, [])
  })

  test('Claude Code: a missing model, with the request id under both of its names', async () => {
    const answer = await replay(rig.port, requestOf('Claude Code: a model that is missing'))
    assert.equal(answer.header('request-id'), answer.header('x-request-id'))
    const { error } = answer.json<{ error: { type: string } }>()
    assert.equal(error.type, 'not_found_error')
  })

  test('Home Assistant: what it asks of the worker arrives as it was sent', async () => {
    const request = requestOf('Home Assistant: chat with a JSON schema (structured)')
    for (const sim of rig.sims) sim.record.reset()
    linesOf(await replay(rig.port, request))
    const [seen] = rig.sims.flatMap((sim) => [...sim.record.requests({ path: '/api/chat' })])
    assert.equal(String(seen?.body), request.body)
  })

  test('n8n: the root says what it looks for', async () => {
    assert.equal((await get(rig, '/')).text, 'Ollama is running')
  })
})

suite('clients from their documentation, and workers that fail', () => {
  test('Codex: a stream that breaks ends with response.failed', async () => {
    await using rig = await stage()
    await cut(rig)
    const answer = await replay(rig.port, requestOf('Codex: a turn'))
    assert.equal(eventsOf(answer).at(-1)?.event, 'response.failed')
  })

  test('Claude Code: a stream that breaks ends with an error event', async () => {
    await using rig = await stage()
    await cut(rig)
    const answer = await replay(rig.port, requestOf('Claude Code: a turn, streamed with tools'))
    const last = eventsOf(answer).at(-1)
    assert.equal(last?.event, 'error')
    assert.equal((JSON.parse(last.data) as { type: string }).type, 'error')
  })

  test('VS Code: a chat stream that breaks ends with an error object, without [DONE]', async () => {
    await using rig = await stage()
    await cut(rig)
    const answer = await replay(rig.port, requestOf('VS Code: chat stream with tools'))
    const { error } = JSON.parse(eventsOf(answer).at(-1)?.data ?? '') as { error: object }
    assert.ok(error)
  })

  for (const client of ['Zed', 'Cline', 'n8n']) {
    test(`${client}: a chat stream that breaks ends with an error line`, async () => {
      await using rig = await stage()
      await cut(rig)
      const answer = await replay(rig.port, requestOf(`${client}: chat stream`))
      assert.equal(typeof linesOf(answer).at(-1)?.['error'], 'string')
    })
  }

  test('Claude Code: models within its three seconds while every worker is silent', async () => {
    await using rig = await stage()
    await Promise.all(rig.sims.map((sim) => sim.faults.add({ kind: 'silent' })))
    const [models] = ACTIONS.filter(({ client }) => client === 'Claude Code: models')
    const begun = performance.now()
    const answer = await replay(rig.port, models!.requests[0]!)
    assert.ok(performance.now() - begun < 3000)
    checkAnswer(models!.requests[0]!, answer)
    const { data } = answer.json<{ data: { id: string }[] }>()
    assert.ok(data.some(({ id }) => id === MODEL))
    await rig.sims[0]?.faults.clear()
    await rig.sims[1]?.faults.clear()
  })
})

async function cut(rig: Rig): Promise<void> {
  await Promise.all(
    rig.sims.map((sim) => sim.faults.add({ kind: 'cut', after: 1, how: 'rst', path: '*' })),
  )
}

const get = (rig: Rig, path: string): Promise<Answer> =>
  replay(rig.port, { method: 'GET', path, headers: [], body: null })

function requestOf(client: string): RecordedRequest {
  const request = ACTIONS.find((action) => action.client === client)?.requests.at(-1)
  assert.ok(request, client)
  return request
}

function withBody(request: RecordedRequest, more: object): RecordedRequest {
  const body = JSON.parse(request.body ?? '{}') as object
  return { ...request, body: JSON.stringify({ ...body, ...more }) }
}
