// With OGW_REAL_OLLAMA=http://host:port the recorded exchanges are played against that
// server and against the simulation, and the two are compared: what a new Ollama
// changes shows here first. The models of the recording have to be installed there
// (chat, think, plain, insert, embed); an exchange whose model is missing is left out.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { cutLike, shapeOf, type AnswerShape } from '../support/exchange-shape.ts'
import { type Exchange, play, readExchanges, readModels, RECORDED } from '../support/exchanges.ts'
import { send } from '../support/raw-client.ts'

const real = process.env['OGW_REAL_OLLAMA'] ?? ''

/** Management would change what is installed; the scheduler's need a state of their own. */
const FILES = ['general', 'native', 'openai', 'anthropic']

/** What depends on what else is installed or loaded there, or on its own settings. */
const OWN_STATE = /^(?:ps-|tags|v1-models|host-|show-(?!404|empty|no-body)|status|cloud-|version)/u

/** Whether the recorded model said nothing here was up to its weights. */
const OWN_WORDS = new Set(['messages-system-blocks'])

const reason = 'needs a real Ollama: set OGW_REAL_OLLAMA=http://host:port'

test(
  'the simulation answers as the real Ollama does',
  { skip: real === '' && reason },
  async (t) => {
    const { hostname, port } = new URL(real)
    const installed = await installedOn(real)
    const models = readModels()
    for (const exchange of FILES.flatMap(readExchanges)) {
      if (OWN_STATE.test(exchange.name) || OWN_WORDS.has(exchange.name)) continue
      await t.test(exchange.name, async (inner) => {
        const missing = models.find(({ name }) => uses(exchange, name) && !installed.has(name))
        if (missing !== undefined) {
          inner.skip(`${missing.name} is not installed there`)
          return
        }
        await using worker = await startSimulatedWorker({ ...RECORDED, models })
        const simulated = await play(worker, exchange)
        const answer = await send(Number(port), exchange.request, { host: hostname }).answer
        assert.deepEqual(free(cutLike(simulated, exchange.answer)), free(shapeOf(answer)))
      })
    }
  },
)

/** Whether a model answers by its own choice or is stopped depends on its weights. */
const free = (answer: AnswerShape): AnswerShape => ({
  ...answer,
  chunks: answer.chunks.map((chunk) =>
    chunk
      .replaceAll(/"(done_reason|finish_reason)":"(?:stop|length)"/gu, '"$1":"<reason>"')
      .replaceAll(/"stop_reason":"(?:end_turn|max_tokens)"/gu, '"stop_reason":"<reason>"')
      .replaceAll(
        /"(prompt_eval_count|prompt_tokens|input_tokens|n_prompt_tokens)":\d+/gu,
        '"$1":<n>',
      ),
  ),
})

function uses({ request }: Exchange, model: string): boolean {
  const short = model.replace(':latest', '')
  return new RegExp(`"model": ?"(?:[^"]*/)?${short}(?::latest)?"`, 'iu').test(request.body ?? '')
}

async function installedOn(url: string): Promise<Set<string>> {
  const { models } = (await (await fetch(`${url}/api/tags`)).json()) as {
    models: { name: string }[]
  }
  return new Set(models.map(({ name }) => name))
}
