// What real clients sent to a real Ollama, sent to the gateway with the same headers and the same
// bytes. The gateway answers as the real one did, but where it differs on purpose: each such
// difference is one line of a table, with its reason.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { checkAnswer } from '../support/answer-checks.ts'
import { RECORDED, readModels } from '../support/exchanges.ts'
import { readRecordedClients, replay } from '../support/recorded-clients.ts'
import type { RecordedAction, RecordedRequest } from '../support/recorded-clients.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'

interface Difference {
  request: string
  /** Part of the name of the client. Default: all of them. */
  client?: string
  status: number
  why: string
}

const MANAGED = 'who may ask for inference may not change what workers have'
const NOT_MADE = 'the copy that the client made a moment before was refused'

const DIFFERENCES: Difference[] = [
  { request: 'POST /api/pull', status: 403, why: MANAGED },
  { request: 'POST /api/create', status: 403, why: MANAGED },
  { request: 'POST /api/copy', status: 403, why: MANAGED },
  { request: 'DELETE /api/delete', status: 403, why: MANAGED },
  ...['chat2', 'from-chat'].flatMap((model) =>
    ['POST /api/show', 'POST /api/generate'].map((request) => {
      return { request, client: `ollama rm ${model}`, status: 404, why: NOT_MADE }
    }),
  ),
  { request: 'HEAD /k/secret/', status: 200, why: 'a path may carry a key' },
  { request: 'POST /v1/messages/count_tokens', status: 200, why: 'tokens are counted here' },
  { request: 'GET /v1/models/library%2Fchat', status: 200, why: 'every spelling finds its model' },
]

const ACTIONS = readRecordedClients()
const used = new Set<Difference>()
let rig: Rig

suite('recorded clients', () => {
  before(async () => {
    rig = await startRig({ workers: [{ ...RECORDED, models: readModels(), tokenMs: 1 }] })
  })
  after(() => rig[Symbol.asyncDispose]())

  for (const action of ACTIONS) {
    test(titleOf(action), async () => {
      for (const request of action.requests) {
        const answer = await replay(rig.port, request, leaves(action))
        const said = `${request.method} ${request.path}: ${answer.text.slice(0, 300)}`
        assert.equal(answer.status, statusOf(action, request), said)
        if (!leaves(action)) checkAnswer(request, answer)
      }
      await rig.quiet()
    })
  }

  test('every difference from a real Ollama is one that a client meets', () => {
    assert.deepEqual(
      DIFFERENCES.filter((difference) => !used.has(difference)),
      [],
    )
  })

  test('a pull is refused with its reason, which clients print', async () => {
    const pulls = ACTIONS.flatMap(({ requests }) => requests).filter(({ path }) =>
      path.endsWith('/pull'),
    )
    assert.ok(pulls.length >= 4)
    for (const pull of pulls) {
      const { error } = (await replay(rig.port, pull)).json<{ error: string }>()
      assert.match(error, /manage/)
    }
  })

  test('nothing that asks for nothing was refused, and no request was sent twice', () => {
    const paths = rig.sims[0]?.record.requests({ path: '/api/chat' }) ?? []
    const asked = ACTIONS.flatMap(({ requests }) => requests).filter(
      ({ path, status }) => path === '/api/chat' && status === 200,
    )
    assert.equal(paths.length, asked.length)
  })
})

/** `client: what it did`, as the table of clients reads it. */
function titleOf({ client }: RecordedAction): string {
  const command = /^(OLLAMA_HOST\S+ )?ollama (.*)$/.exec(client)
  if (command === null)
    return client
      .replace(/^Open WebUI \d[\d.]*:/, 'Open WebUI:')
      .replace(/^(npm|python) (\S+) \d[\d.]*:/, '$2 ($1):')
  return `ollama CLI: ${command[2]}${command[1] === undefined ? '' : ' under /k/KEY'}`
}

const leaves = ({ client }: RecordedAction): boolean => /broken off|abort\(\)/.test(client)

function statusOf({ client }: RecordedAction, request: RecordedRequest): number {
  const line = `${request.method} ${request.path}`
  const difference = DIFFERENCES.find(
    (each) => each.request === line && (each.client === undefined || client === each.client),
  )
  if (difference === undefined) return request.status
  used.add(difference)
  return difference.status
}
