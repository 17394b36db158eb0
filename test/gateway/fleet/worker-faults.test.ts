import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classify, errorMessage } from '../../../src/gateway/fleet/worker-faults.ts'

const native = (message: string): string => JSON.stringify({ error: message })
const openai = (message: string): string =>
  JSON.stringify({ error: { message, type: 'api_error', param: null, code: null } })

// One line per case: status, body, meaning.
const cases: [status: number, body: string, fault: string][] = [
  [404, native("model 'x' not found"), 'missing_model'],
  [404, native('model "x" not found, try pulling it first'), 'missing_model'],
  [404, openai("model 'x' not found"), 'missing_model'],
  [404, native('model "alpha:8b" not found'), 'missing_model'],
  // B009: a route that an old worker lacks says nothing of the model.
  [404, '404 page not found', 'client_fault'],
  [404, native('not found'), 'client_fault'],
  [404, '', 'client_fault'],
  [404, '<html>model not found</html>', 'client_fault'],
  [400, native("model 'x' not found"), 'client_fault'],
  [405, '405 method not allowed', 'client_fault'],
  [400, native('registry.ollama.ai/library/x:latest does not support tools'), 'client_fault'],
  [503, native('server busy, please try again.  maximum pending requests exceeded'), 'busy'],
  [503, openai('server busy, please try again.  maximum pending requests exceeded'), 'busy'],
  [503, native('loading'), 'busy'],
  [503, '<html>503 Service Temporarily Unavailable</html>', 'other'],
  [
    500,
    native('llama-server process has terminated: exit status 1: error loading model'),
    'load_failed',
  ],
  [500, native('llama runner process has terminated: signal: killed'), 'load_failed'],
  [500, native('timed out waiting for llama-server to start - progress 0.00 - '), 'load_failed'],
  [500, native('timed out waiting for llama runner to start - progress 0.00 - '), 'load_failed'],
  [500, native('x: this model may be incompatible with your version of Ollama. If'), 'load_failed'],
  [
    500,
    native('llama-server reported out-of-memory during startup: cudaMalloc failed'),
    'out_of_memory',
  ],
  [
    500,
    native('model requires more system memory (9 GiB) than is available (5 GiB)'),
    'out_of_memory',
  ],
  [500, native('unable to load full model on GPU'), 'out_of_memory'],
  [
    500,
    native('model runner has unexpectedly stopped, this may be due to resource limitations'),
    'runner_died',
  ],
  [500, native('an error was encountered while running the model: EOF'), 'runner_died'],
  [500, openai('an error was encountered while running the model: EOF'), 'runner_died'],
  [
    500,
    native('an error was encountered while running the model: CUDA error: out of memory'),
    'out_of_memory',
  ],
  [500, native('option "num_ctx" must be of type integer'), 'other'],
  [500, native('{"error":{"code":500,"message":"failed to load model"}}'), 'load_failed'],
  [502, 'Bad Gateway', 'other'],
  [500, '', 'other'],
]
for (const [status, body, fault] of cases) {
  test(`${status} ${body.slice(0, 70)}: ${fault}`, () => {
    assert.equal(classify(status, body), fault)
  })
}

test('a message that is JSON itself is unwrapped once', () => {
  const inner = '{"error":{"code":400,"message":"request (9 tokens) exceeds","n_ctx":8}}'
  assert.equal(errorMessage(native(inner)), 'request (9 tokens) exceeds')
  assert.equal(errorMessage(native('{broken')), '{broken')
  assert.equal(errorMessage('{"error":null}'), undefined)
})
