import assert from 'node:assert/strict'
import { test } from 'node:test'
import { combine, noReading } from '../../../src/gateway/fleet/telemetry/combine.ts'
import { gaugeText } from '../../../src/gateway/observe/exposition.ts'
import { createMetrics } from '../../../src/gateway/observe/metrics.ts'
import type { Metrics, MetricsDeps } from '../../../src/gateway/observe/metrics.ts'
import { createOpsServer } from '../../../src/gateway/observe/ops-server.ts'
import type { RequestRecord } from '../../../src/gateway/observe/request-record.ts'
import { noRates } from '../../../src/gateway/policy/throughput.ts'
import { aRecord } from '../../support/request-records.ts'
import { aWorker, down, installed, loadedModel } from '../../support/worker-records.ts'

function metricsOf(changes: Partial<MetricsDeps> = {}): Metrics {
  return createMetrics({
    version: '0.1.0',
    workers: () => [],
    inFlight: () => 0,
    modelInFlight: () => 0,
    waiting: () => new Map(),
    telemetryReadAt: () => undefined,
    now: () => 1_700_000_000_000,
    mono: () => 0,
    draining: () => false,
    isInstalled: (key) => key === 'qwen3:8b',
    configReload: () => ({ successful: true, succeededAtS: 1_700_000_000 }),
    ...changes,
  })
}

const record: RequestRecord = {
  ...aRecord('r1', 'qwen3:8b'),
  tenant: 'tenant-1',
  actor: 'actor-1',
  attempts: 3,
  retryReasons: ['transport', 'silent'],
  notices: ['model.reload'],
  outputMs: 800,
  loadMs: 3000,
  queueMs: 2000,
  ttfbMs: 300,
  durationMs: 4000,
  promptTokens: 30,
  outputTokens: 40,
}

/** The samples of the gateway's own families, `name{labels} value`. */
async function samples(metrics: Metrics): Promise<string[]> {
  const text = await metrics.render()
  return text.split('\n').filter((line) => line.startsWith('ollama_gateway_'))
}

const has = (lines: readonly string[], ...wanted: string[]): void => {
  for (const line of wanted)
    assert.ok(lines.includes(line), `${line} is not in\n${lines.join('\n')}`)
}

test('a finished request is counted once, with its tokens and retries', async () => {
  const metrics = metricsOf()
  metrics.book(record)
  metrics.book({
    ...record,
    outcome: 'client_gone',
    status: undefined,
    attempts: 1,
    retryReasons: [],
  })
  has(
    await samples(metrics),
    'ollama_gateway_requests_total{dialect="ollama",model="qwen3:8b",outcome="ok",status="200"} 1',
    'ollama_gateway_requests_total{dialect="ollama",model="qwen3:8b",outcome="client_gone",status="none"} 1',
    'ollama_gateway_tokens_total{type="input",model="qwen3:8b"} 60',
    'ollama_gateway_tokens_total{type="output",model="qwen3:8b"} 80',
    'ollama_gateway_retries_total{reason="transport"} 1',
    'ollama_gateway_retries_total{reason="silent"} 1',
    'ollama_gateway_notices_total{event="model.reload",model="qwen3:8b",worker="node-1"} 2',
    'ollama_gateway_time_per_output_token_seconds_sum 0.04',
    'ollama_gateway_model_load_seconds_sum 6',
    'ollama_gateway_request_duration_seconds_sum{dialect="ollama"} 8',
    'ollama_gateway_time_to_first_token_seconds_bucket{le="0.5",dialect="ollama"} 2',
    'ollama_gateway_queue_wait_seconds_bucket{le="1"} 0',
    'ollama_gateway_queue_wait_seconds_bucket{le="5"} 2',
  )
})

test('what is unknown or no number makes no sample', () => {
  const text = gaugeText({
    name: 'x',
    help: 'H.',
    labels: ['worker'],
    samples: [
      [['a'], undefined],
      [['b'], Number.NaN],
      [['c'], Number.POSITIVE_INFINITY],
      [['d'], 0],
    ],
  })
  assert.equal(text, '# HELP x H.\n# TYPE x gauge\nx{worker="d"} 0\n')
})

// B146: names come from clients; a series is for ever.
test('20,000 unknown names make one series, and no user becomes a label', async () => {
  const metrics = metricsOf()
  for (let index = 0; index < 20_000; index += 1) {
    metrics.book({ ...record, model: `random-${index}`, actor: `user-${index}`, id: `id-${index}` })
  }
  const lines = await samples(metrics)
  has(
    lines,
    'ollama_gateway_requests_total{dialect="ollama",model="other",outcome="ok",status="200"} 20000',
  )
  assert.ok(lines.length < 100, `${lines.length} series`)
  assert.doesNotMatch(lines.join('\n'), /random-|user-|id-|tenant-1/)
})

test('every dialect together stays below 300 histogram series', async () => {
  const metrics = metricsOf()
  for (const dialect of [
    'ollama',
    'openai-chat',
    'openai-completions',
    'openai-embeddings',
    'openai-responses',
    'openai-audio',
    'anthropic',
  ] as const) {
    metrics.book({ ...record, dialect })
  }
  const series = (await samples(metrics)).filter((line) =>
    /_seconds_(?:bucket|sum|count)/.test(line),
  )
  assert.ok(series.length > 100 && series.length <= 300, String(series.length))
})

test('gauges are what is true at the scrape', async () => {
  const worker = aWorker({ name: 'node-1', loaded: [loadedModel('qwen3:8b')] })
  const gpu = {
    id: 'GPU-1',
    index: 0,
    name: 'X',
    utilization: 0.5,
    vramUsedBytes: 10,
    vramTotalBytes: 24,
    vramReservedBytes: 1,
    temperatureC: 61,
    powerW: 250.5,
  }
  const telemetry = combine({ gpus: [gpu], memory: { usedBytes: 3, totalBytes: 8 } }, noReading)
  worker.telemetry = telemetry
  worker.probeMs = 12
  worker.rates = new Map([
    ['qwen3:8b', { ...noRates, promptPerS: 900, outputPerS: 42, outputSamples: 7 }],
  ])
  const second = down(aWorker({ name: 'node-2' }), 0)
  second.telemetry = telemetry
  second.config = { ...second.config, nvidia_smi: true }
  const workers = [worker, second]
  let active = 2
  const metrics = metricsOf({
    workers: () => workers,
    inFlight: () => active,
    modelInFlight: () => active,
    waiting: () =>
      new Map([
        ['qwen3:8b', 5],
        ['made-up', 2],
      ]),
    telemetryReadAt: () => 1_600_000_000_000,
  })
  has(
    await samples(metrics),
    `ollama_gateway_build_info{version="0.1.0",node="${process.version}"} 1`,
    'ollama_gateway_queue_depth{model="qwen3:8b"} 5',
    'ollama_gateway_queue_depth{model="other"} 2',
    'ollama_gateway_draining 0',
    'ollama_gateway_config_last_reload_successful 1',
    'ollama_gateway_inflight{worker="node-1"} 2',
    'ollama_gateway_worker_up{worker="node-1"} 1',
    'ollama_gateway_worker_up{worker="node-2"} 0',
    'ollama_gateway_worker_address_info{worker="node-1",address="http://127.0.0.1:1"} 1',
    'ollama_gateway_worker_memory_used_bytes{worker="node-1"} 3',
    'ollama_gateway_worker_memory_total_bytes{worker="node-1"} 8',
    'ollama_gateway_worker_vram_used_bytes{worker="node-1"} 10',
    'ollama_gateway_worker_vram_total_bytes{worker="node-1"} 24',
    'ollama_gateway_worker_gpu_utilization_percent{worker="node-1"} 50',
    'ollama_gateway_worker_gpu_temperature_celsius{worker="node-1"} 61',
    'ollama_gateway_worker_gpu_power_watts{worker="node-1"} 250.5',
    'ollama_gateway_worker_probe_duration_seconds{worker="node-1"} 0.012',
    'ollama_gateway_worker_circuit_state{worker="node-1"} 0',
    'ollama_gateway_telemetry_last_success_timestamp_seconds{worker="node-2"} 1600000000',
    // Both workers use the one GPU.
    'ollama_gateway_fleet_vram_used_bytes 10',
    'ollama_gateway_fleet_vram_total_bytes 24',
    'ollama_gateway_worker_model_active{worker="node-1",model="qwen3:8b"} 2',
    'ollama_gateway_worker_model_prompt_tokens_per_second{worker="node-1",model="qwen3:8b"} 900',
    'ollama_gateway_worker_model_output_tokens_per_second{worker="node-1",model="qwen3:8b"} 42',
    'ollama_gateway_worker_model_performance_samples{worker="node-1",model="qwen3:8b"} 7',
  )
  active = 0
  workers.pop()
  const later = await samples(metrics)
  has(later, 'ollama_gateway_worker_model_active{worker="node-1",model="qwen3:8b"} 0')
  assert.doesNotMatch(later.join('\n'), /node-2/)
})

test('the ops listener: alive, ready or why not, metrics, and nothing else', async () => {
  let why: string | undefined = 'the first probes have not ended'
  const metrics = metricsOf()
  const server = createOpsServer({ notReady: () => why, metrics, telemetry: () => ({ gpus: [] }) })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const get = async (path: string, method = 'GET'): Promise<[number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    return [answer.status, await answer.text()]
  }
  assert.deepEqual(await get('/livez'), [200, 'ok\n'])
  assert.deepEqual(await get('/readyz?verbose'), [503, `${why}\n`])
  why = undefined
  assert.deepEqual(await get('/readyz'), [200, 'ready\n'])
  assert.deepEqual(await get('/readyz', 'HEAD'), [200, ''])
  assert.equal((await get('/metrics', 'POST'))[0], 405)
  assert.equal((await get('/api/tags'))[0], 404)
  assert.deepEqual(await get('/telemetry'), [200, '{"gpus":[]}'])
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(await answer.text(), /^process_cpu_user_seconds_total /m)
  await server.close()
})

test('a gauge that cannot be read is a 500 for the scraper and nothing more', async () => {
  const metrics = metricsOf({
    draining: () => {
      throw new Error('bug')
    },
  })
  const server = createOpsServer({ notReady: () => undefined, metrics, telemetry: () => ({}) })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 500)
  assert.equal((await fetch(`http://127.0.0.1:${port}/livez`)).status, 200)
  await server.close()
})

// B146
test('a large fleet: the scrape stays below a megabyte, models that are gone leave no series', async () => {
  const names = Array.from({ length: 500 }, (_, index) => `model-${index}:8b`)
  const rates = new Map(
    names.map((name) => [name, { ...noRates, outputPerS: 42.123, outputSamples: 7 }]),
  )
  const present = names.map((name) => installed(name))
  const workers = Array.from({ length: 200 }, (_, index) => {
    const worker = aWorker({ name: `node-${index}`, installed: present })
    worker.rates = new Map([...rates, ['gone:8b', noRates]])
    return worker
  })
  const metrics = metricsOf({
    workers: () => workers,
    isInstalled: (key) => key.startsWith('model-'),
  })
  for (const model of names) metrics.book({ ...record, model })
  const text = await metrics.render()
  assert.ok(text.length < 1_000_000, `${text.length} bytes`)
  assert.match(text, /_output_tokens_per_second\{worker="node-199",model="model-/)
  assert.doesNotMatch(text, /gone:8b/)
})

test('counters tell at most a thousand models apart, whatever comes and goes', async () => {
  const metrics = metricsOf({ isInstalled: () => true })
  for (let index = 0; index < 3_000; index += 1)
    metrics.book({ ...record, model: `model-${index}` })
  const lines = await samples(metrics)
  const told = lines.filter((line) => line.startsWith('ollama_gateway_requests_total'))
  assert.equal(told.length, 1_001)
})

test('names with quotes and line ends stay one label', async () => {
  const metrics = metricsOf({ waiting: () => new Map([['a"b\\c\nd', 1]]), isInstalled: () => true })
  has(await samples(metrics), 'ollama_gateway_queue_depth{model="a\\"b\\\\c\\nd"} 1')
})

const SEED_NAMES = [
  'ollama_gateway_worker_memory_used_bytes',
  'ollama_gateway_worker_memory_total_bytes',
  'ollama_gateway_worker_vram_used_bytes',
  'ollama_gateway_worker_vram_total_bytes',
  'ollama_gateway_worker_gpu_utilization_percent',
  'ollama_gateway_worker_gpu_temperature_celsius',
  'ollama_gateway_worker_gpu_power_watts',
  'ollama_gateway_worker_model_active',
  'ollama_gateway_worker_model_prompt_tokens_per_second',
  'ollama_gateway_worker_model_output_tokens_per_second',
  'ollama_gateway_worker_model_performance_samples',
]
test('the eleven names of the seed, letter for letter, and what a family says of itself', () => {
  const families = metricsOf().families()
  const names = families.map(({ name }) => name)
  assert.deepEqual(
    SEED_NAMES.filter((name) => !names.includes(name)),
    [],
  )
  assert.equal(new Set(names).size, names.length)
  for (const { name, help, type, labels } of families) {
    assert.match(name, /^ollama_gateway_[a-z_]+$/)
    assert.ok(help.length > 10, name)
    assert.equal(type === 'counter', name.endsWith('_total'), name)
    for (const label of labels) assert.doesNotMatch(label, /tenant|user|actor|key|request/, name)
  }
})
