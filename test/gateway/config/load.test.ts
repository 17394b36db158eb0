import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { crossChecks } from '../../../src/gateway/config/cross-checks.ts'
import { soundParts } from '../../../src/gateway/config/sound-parts.ts'
import type { LoadedConfig, LoadResult } from '../../../src/gateway/config/load.ts'
import {
  defaultConfig,
  findConfigFile,
  loadConfig,
  loadConfigFile,
} from '../../../src/gateway/config/load.ts'
import { notBuiltYet } from '../../../src/gateway/config/not-built-yet.ts'
import { problemText } from '../../../src/gateway/config/problem.ts'
import { ROOT } from '../../support/write-docs.ts'

type Json = Record<string, unknown>

const load = (value: unknown, env: Record<string, string> = {}): LoadResult =>
  loadConfig(typeof value === 'string' ? value : JSON.stringify(value), env)

function loaded(value: unknown, env: Record<string, string> = {}): LoadedConfig {
  const result = load(value, env)
  assert.ok(result.ok, result.ok ? '' : result.problems.map(problemText).join('\n'))
  return result
}

function problems(value: unknown, env: Record<string, string> = {}): string[] {
  const result = load(value, env)
  return result.ok ? [] : result.problems.map(problemText)
}

const warnings = (value: unknown): string[] => load(value).warnings.map(problemText)

/** One worker with these keys besides its name and address. */
const worker = (keys: Json): Json => ({ workers: [{ name: 'a', url: 'http://w:1', ...keys }] })

// The defaults of product.md, each of them, as they are in memory: durations in milliseconds.
const DEFAULTS = {
  listen: '127.0.0.1:11435',
  ops_listen: '127.0.0.1:11436',
  admin: { socket: null, mode: '0660' },
  log: { level: 'info' },
  drain_timeout: 300_000,
  workers: [
    {
      name: 'ollama',
      why: '',
      urls: ['http://127.0.0.1:11434'],
      max_concurrent: 4,
      model_concurrency: {},
      model_placement: { mode: 'allow_all', allowed_models: [], denied_models: [] },
      default_context_tokens: null,
      context_limits: {},
      nvidia_smi: false,
      nvidia_gpu: null,
      telemetry_url: null,
      headers: {},
      tls: { ca_file: null, verify: true },
      probe: {
        path: '/api/version',
        accept_status: [200],
        interval: 5000,
        timeout: 3000,
        failures_to_down: 2,
        max_backoff: 30_000,
      },
    },
  ],
  inventory: { tags_interval: 30_000, ps_interval: 5000 },
  routing: {
    loaded_bonus: 60,
    installed_bonus: 30,
    throughput_bonus: 20,
    load_penalty: 40,
    model_load_penalty: 20,
    vram_pressure_penalty: 35,
    gpu_utilization_penalty: 10,
    avoid_vram_percent: 97,
    affinity_bonus: 15,
  },
  model_capabilities: {
    mode: 'enforce',
    cache_ttl: 600_000,
    context_guard: 'reject',
    context: {
      max_requested_tokens: 32_768,
      default_worker_tokens: 4096,
      estimation_margin_percent: 15,
      vision_reserve_tokens_per_image: 2048,
    },
  },
  admission: { max_queue: 256, max_wait: 240_000, max_body_bytes: 104_857_600, heartbeat: 15_000 },
  upstream: {
    connect_timeout: 2000,
    first_byte_grace: 10_000,
    first_byte_timeout: 900_000,
    stream_idle_grace: 20_000,
    stream_idle_timeout: 300_000,
    max_attempts: 3,
    retry_budget: 60_000,
    slow_reader_buffer_bytes: 4_194_304,
    breaker: { failures: 5, window: 30_000, open: 10_000, max_open: 120_000 },
  },
  aliases: {},
  fallbacks: [],
  auth: {
    mode: 'auto',
    anonymous: ['version'],
    trust_identity_headers: false,
    openwebui_jwt_secret: null,
    allowed_hosts: [],
  },
  tenants: [],
  keep_alive: { max: null, override: null },
  num_ctx: { policy: 'client' },
  cors: { origins: [] },
  storage: {
    dir: null,
    model_placement_file: 'model-placement.json',
    placement_history_file: 'placement-history.jsonl',
    worker_performance_file: 'worker-performance.json',
    workers_file: 'workers.json',
    keys_file: 'keys.json',
    tenants_file: 'tenants.json',
    credits_file: 'credits.json',
    usage_file: 'usage.jsonl',
  },
  audit: { file: 'audit.jsonl', requests: false, max_bytes: 16_777_216, keep: 5 },
  otel: { endpoint: null },
}

test('every default', () => {
  assert.deepEqual(loaded({}).config, DEFAULTS)
})

// Only a default tenant can be written as yet; it has these values.
test('every default of a tenant', () => {
  assert.deepEqual(loaded({ tenants: [{ name: 'default' }] }).config.tenants, [
    {
      name: 'default',
      weight: 1,
      max_in_flight: 0,
      credits: 0,
      actor_credits: 0,
      credit_window: 86_400_000,
      allowed_models: ['*'],
      denied_models: [],
      priority: 'interactive',
    },
  ])
})

// Value → what `ogw config check` says of it. One line per kind of problem.
const PROBLEMS: [config: unknown, text: string][] = [
  ['', 'config: the file is empty'],
  [' \n', 'config: the file is empty'],
  ['{', 'line 1, column 2: the file ends too early: a key in double quotes is missing'],
  [
    '{"listen": "127.0',
    'line 1, column 12: this string is not closed on its line, or has a wrong escape',
  ],
  ['{\n  "listen": tru\n}', 'line 2, column 13: a value is wanted here, not "t"'],
  ['{"a": 1 "b": 2}', 'line 1, column 9: a comma or } is wanted here, not "\\""'],
  ['{"listen": "x",}', 'line 1, column 15: nothing follows this comma; remove it'],
  ['{"workers": [1,]}', 'line 1, column 15: nothing follows this comma; remove it'],
  ['{\n // no\n}', 'line 2, column 2: JSON has no comments; remove this one'],
  ["{'a': 1}", 'line 1, column 2: JSON has double quotes only'],
  ['{a: 1}', 'line 1, column 2: a key in double quotes is wanted here, not "a"'],
  ['{} {}', 'line 1, column 4: nothing may follow the closing brace'],
  ['{"a" 1}', 'line 1, column 6: a colon belongs after a key'],
  ['['.repeat(100), 'line 1, column 66: nested deeper than 64'],
  [
    '{"log": {"level": "info",\n "level": "warn"}}',
    'log.level, line 2, column 2: this key is written twice; only one of them can hold',
  ],
  ['[]', 'config: must be an object in { }, not a list'],
  ['null', 'config: must be an object in { }, not null'],
  [{ wrokers: [] }, 'wrokers: unknown key (did you mean "workers"?)'],
  [
    worker({ maxConcurrent: 2 }),
    'workers[0].maxConcurrent: unknown key (did you mean "max_concurrent"?)',
  ],
  [
    worker({ probe: { timout: '1s' } }),
    'workers[0].probe.timout: unknown key (did you mean "timeout"?)',
  ],
  [{ heartbeat: '5s' }, 'heartbeat: unknown key (it belongs at admission.heartbeat)'],
  [{ 'odd key': 1 }, '["odd key"]: unknown key'],
  [{ drain_timeout: 5 }, 'drain_timeout: use a string with a unit, as in "10s"'],
  [{ drain_timeout: '5' }, 'drain_timeout: use a string with a unit, as in "10s"'],
  [{ drain_timeout: '25h' }, 'drain_timeout: must be between 0s and 24h'],
  [
    worker({ probe: { interval: 5 } }),
    'workers[0].probe.interval: use a string with a unit, as in "10s", or "off"',
  ],
  [
    worker({ probe: { interval: '10ms' } }),
    'workers[0].probe.interval: must be between 1s and 1h, or "off"',
  ],
  [
    worker({ probe: { path: 'api' } }),
    'workers[0].probe.path: a path begins with / and has no blanks',
  ],
  [{ admission: { max_queue: 1.5 } }, 'admission.max_queue: must be a whole number, not 1.5'],
  [{ admission: { max_queue: -1 } }, 'admission.max_queue: must be at least 0'],
  [{ admission: { max_queue: '5' } }, 'admission.max_queue: must be a number, not a string'],
  [{ admission: null }, 'admission: must be an object in { }, not null'],
  [{ routing: { avoid_vram_percent: 101 } }, 'routing.avoid_vram_percent: must be at most 100'],
  [
    { log: { level: 'wran' } },
    'log.level: must be one of "debug", "info", "warn", "error", "silent" (did you mean "warn"?)',
  ],
  [
    { admin: { mode: '0440' } },
    'admin.mode: write octal rights that the owner can use, as in "0660"',
  ],
  [{ listen: '11435' }, 'listen: write host and port, as in "127.0.0.1:11435" or "[::1]:11435"'],
  [{ ops_listen: '127.0.0.1:11435' }, 'ops_listen: is the same address as "listen"'],
  [{ workers: [] }, 'workers: a gateway needs at least one worker'],
  [{ workers: [{ url: 'http://w' }] }, 'workers[0].name: is missing'],
  [{ workers: [{ name: 'a' }] }, 'workers[0]: write either "url" or "urls": one of them, not both'],
  [
    worker({ urls: ['http://x'] }),
    'workers[0]: write either "url" or "urls": one of them, not both',
  ],
  [worker({ url: 'http://w?x' }), 'workers[0].url: an address has no query and no fragment'],
  [
    worker({ url: 'localhost:11435' }),
    'workers[0].url: is the gateway’s own listener (Ollama itself listens on port 11434)',
  ],
  [
    { aliases: { 'gpt-4o': 'x:1', 'GPT-4o:latest': 'y:1' } },
    'aliases["GPT-4o:latest"]: is the model of "gpt-4o" too; only one of them can hold',
  ],
  [
    worker({ model_concurrency: { 'q:8b': 1, 'Q:8B': 2, 'q:*': 3 } }),
    'workers[0].model_concurrency["Q:8B"]: is the model of "q:8b" too; only one of them can hold',
  ],
  [
    worker({ context_limits: { 'q:*': 1024, 'Q:*': 2048 } }),
    'workers[0].context_limits["Q:*"]: is the model of "q:*" too; only one of them can hold',
  ],
  [worker({ name: 'a b' }), 'workers[0].name: use 1 to 63 letters, digits, ".", "-" or "_"'],
  [
    worker({ name: 'x'.repeat(64) }),
    'workers[0].name: use 1 to 63 letters, digits, ".", "-" or "_"',
  ],
  [worker({ name: 'All' }), 'workers[0].name: "all" means every worker, so it names none'],
  [
    {
      workers: [
        { name: 'Büro', url: 'w1' },
        { name: 'bu\u0308ro', url: 'w2' },
      ],
    },
    'workers[1].name: the name of workers[0] again; names are unique without case',
  ],
  [
    worker({ model_concurrency: { 'a*b': 1 } }),
    'workers[0].model_concurrency["a*b"]: only one trailing * is allowed, as in "gemma4:*"',
  ],
  [worker({ model_concurrency: { a: 0 } }), 'workers[0].model_concurrency.a: must be at least 1'],
  [
    worker({ model_placement: { denied_models: ['*x'] } }),
    'workers[0].model_placement.denied_models[0]: only one trailing * is allowed, as in "gemma4:*"',
  ],
  [
    worker({ model_placement: { denied_models: [''] } }),
    'workers[0].model_placement.denied_models[0]: a model pattern must not be empty',
  ],
  [
    worker({ headers: { 'Content-Length': '1' } }),
    'workers[0].headers.Content-Length: this header belongs to the connection, not to you',
  ],
  [
    worker({ headers: { a: 'x\r\ny' } }),
    'workers[0].headers.a: a header value has no line breaks or control characters',
  ],
  [
    worker({ headers: { 'X-A': '1', 'x-a': '2' } }),
    'workers[0].headers.x-a: is the same header in another case',
  ],
  [
    worker({ url: 'http://u:p@w', headers: { authorization: 'Bearer x' } }),
    'workers[0]: the addresses and headers give different credentials for one worker',
  ],
  [
    { upstream: { breaker: { open: '5m' } } },
    'upstream.breaker.max_open: must not be less than "open"',
  ],
  [
    { storage: { keys_file: 'usage.jsonl' } },
    'storage.usage_file: is the same file as storage.keys_file',
  ],
  [{ cors: { origins: ['chat.example'] } }, 'cors.origins[0]: not an origin'],
  [{ otel: { endpoint: 'nowhere' } }, 'otel.endpoint: Invalid URL'],
  [
    { cors: { origins: ['https://${HOST}'] } },
    'cors.origins[0]: the environment variable HOST is not set',
  ],
  [
    { cors: { origins: ['https://${1}'] } },
    'cors.origins[0]: this ${ names no variable (write ${NAME}, or $${ for the characters themselves)',
  ],
]

for (const [config, text] of PROBLEMS) {
  test(`problem: ${text}`, () => {
    assert.ok(problems(config).includes(text), problems(config).join('\n'))
  })
}

test('aliases that lead back to themselves, each of them', () => {
  assert.deepEqual(
    problems({ aliases: { a: 'b', b: 'A:latest', c: 'a', d: 'e' } }).filter((text) =>
      text.includes('leads back'),
    ),
    ['aliases.a: leads back to itself', 'aliases.b: leads back to itself'],
  )
})

// One mistake must not hide another, of whatever kind and in whatever part of the file.
test('all problems at once', () => {
  const config = `{
    "lisen": "x", "drain_timeout": 5, "drain_timeout": 6,
    "workers": [
      {"name": "a b", "url": "ftp://x", "probe": {"interval": 1}},
      {"name": "Q", "url": "http://\${PW}@w"},
      {"name": "q", "url": "w:80"}
    ],
    "aliases": {"a": "a"},
    "fallbacks": [{"model": "a", "use": "b"}]
  }`
  assert.deepEqual(
    problems(config).map((text) => text.split(/[:,] /, 1)[0]),
    [
      'drain_timeout',
      'workers[1].url',
      'drain_timeout',
      'workers[0].name',
      'workers[0].url',
      'workers[0].probe.interval',
      'fallbacks[0]',
      'lisen',
      'workers[2].name',
      'aliases.a',
    ],
  )
})

const WARNINGS: [config: unknown, text: string][] = [
  [
    worker({ url: 'http://w:1/v1' }),
    'workers[0].url: ends in /v1, which the gateway adds itself (write it without /v1)',
  ],
  [
    { workers: [{ name: 'a', urls: ['http://w:1', 'http://w:1/x/api/'] }] },
    'workers[0].urls[1]: ends in /api, which the gateway adds itself (write it without /api)',
  ],
  [
    {
      workers: [
        { name: 'a', url: 'w:1' },
        { name: 'b', urls: ['v:1', 'HTTP://W:1/'] },
      ],
    },
    'workers[1].urls[1]: is the address of workers[0].url too: its slots would be counted twice',
  ],
  [
    worker({ nvidia_smi: true, url: 'http://192.0.2.1' }),
    'workers[0].nvidia_smi: reads the gateway’s own machine, and this worker is not on it (use "telemetry_url" for a worker elsewhere)',
  ],
  [
    { fallbacks: [{ model: 'a', when: 'absent', use: 'A:latest' }] },
    'fallbacks[0].use: is the model itself',
  ],
  [
    {
      ...worker({ model_placement: { mode: 'whitelist', allowed_models: ['b:*'] } }),
      fallbacks: [{ model: 'a', missing: ['tools'], use: 'c:8b' }],
    },
    'fallbacks[0].use: no worker may run this model',
  ],
]

for (const [config, text] of WARNINGS) {
  test(`warning: ${text}`, () => {
    assert.ok(warnings(config).includes(text), warnings(config).join('\n'))
  })
}

test('nvidia-smi for a worker on this machine is nothing to warn of', () => {
  assert.deepEqual(warnings(worker({ nvidia_smi: true, url: 'http://127.0.0.1:11434' })), [])
})

test('a path prefix is kept, without its last slash', () => {
  assert.deepEqual(loaded(worker({ url: 'http://w:1/ollama/' })).config.workers[0]?.urls, [
    'http://w:1/ollama',
  ])
})

test('the password of an address becomes a header', () => {
  const [first] = loaded(worker({ url: 'http://u:p%40ss@w:1', headers: { 'X-A': 'b' } })).config
    .workers
  const authorization = `Basic ${Buffer.from('u:p@ss').toString('base64')}`
  assert.deepEqual(first?.headers, { authorization, 'x-a': 'b' })
  assert.deepEqual(first?.urls, ['http://w:1'])
})

test('"off" is a probe interval', () => {
  assert.equal(
    loaded(worker({ probe: { interval: 'off' } })).config.workers[0]?.probe.interval,
    'off',
  )
})

test('names of any script', () => {
  assert.equal(loaded(worker({ name: 'कार्यालय-2.β_x' })).config.workers[0]?.name, 'कार्यालय-2.β_x')
})

test('a byte order mark is let pass', () => {
  assert.ok(load('\uFEFF{}').ok)
})

test('the environment is put into strings, and it is noted where', () => {
  const config = worker({ why: 'a $${x} $5', headers: { authorization: 'Bearer ${T}${T}' } })
  const result = loaded(config, { T: 'secret', x: 'not used' })
  assert.equal(result.config.workers[0]?.headers['authorization'], 'Bearer secretsecret')
  assert.equal(result.config.workers[0]?.why, 'a ${x} $5')
  assert.deepEqual(new Set(result.fromEnv), new Set(['workers[0].headers.authorization']))
})

test('a non-loopback listener is served without keys where that is written out', () => {
  assert.ok(load({ listen: '0.0.0.0:11435', auth: { mode: 'open' } }).ok)
})

// OLLAMA_HOST is what a server listens on and what clients connect to; ogw is such a client.
const OLLAMA_HOSTS: [text: string, url: string, warns?: true][] = [
  ['', 'http://127.0.0.1:11434'],
  ['0.0.0.0', 'http://127.0.0.1:11434'],
  ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
  ['[::]:8080', 'http://[::1]:8080'],
  [':8080', 'http://127.0.0.1:8080'],
  ['"box"', 'http://box:11434'],
  ['http://box', 'http://box'],
  ['https://box/ollama/', 'https://box/ollama'],
  ['127.0.0.1:11435', 'http://127.0.0.1:11434', true],
  ['0.0.0.0:11435', 'http://127.0.0.1:11434', true],
  ['localhost:11435', 'http://127.0.0.1:11434', true],
  ['ftp://box', 'http://127.0.0.1:11434', true],
]

test('no config: one worker, at OLLAMA_HOST', () => {
  for (const [text, url, warns = false] of OLLAMA_HOSTS) {
    const result = defaultConfig({ OLLAMA_HOST: text })
    assert.ok(result.ok, text)
    assert.deepEqual(
      result.config.workers.map(({ urls }) => urls),
      [[url]],
      text,
    )
    assert.equal(result.warnings.length > 0, warns, text)
  }
})

test('where the config is looked for', () => {
  const find = (env: Record<string, string>, ...existing: string[]) =>
    findConfigFile(env, (file) => existing.includes(file))
  const etc = '/etc/ogw/config.json'
  assert.equal(find({ OGW_CONFIG: '/x', XDG_CONFIG_HOME: '/c' }, '/c/ogw/config.json'), '/x')
  assert.equal(find({ XDG_CONFIG_HOME: '/c' }, '/c/ogw/config.json', etc), '/c/ogw/config.json')
  assert.equal(
    find({ HOME: '/h' }, '/h/.config/ogw/config.json', etc),
    '/h/.config/ogw/config.json',
  )
  assert.equal(find({ HOME: '/h' }, etc), etc)
  assert.equal(find({ HOME: '/h' }), undefined)
})

test('files: read, missing, a folder', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'ogw-config-'))
  try {
    const file = path.join(dir, 'config.json')
    writeFileSync(file, '{}')
    assert.ok(loadConfigFile(file, {}).ok)
    for (const bad of [path.join(dir, 'none.json'), dir]) {
      const result = loadConfigFile(bad, {})
      assert.ok(!result.ok && result.problems[0]?.message.includes(`cannot read ${bad}`), bad)
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
})

// A config that is being written looks like this at some moment. None of them may pass.
test('no beginning of a config is a config', () => {
  const text = readFileSync(path.join(ROOT, 'docs/config.example.json'), 'utf8').trimEnd()
  for (let length = 0; length < text.length; length += 1) {
    assert.ok(!loadConfig(text.slice(0, length), {}).ok, `${length} characters`)
  }
})

// Snippets of the documents this gateway was made from. Their keys are kept to the letter.
const SNIPPETS: Readonly<Record<string, Json>> = {
  'placement of one worker': worker({
    model_placement: {
      mode: 'allow_all',
      allowed_models: ['gemma4:latest'],
      denied_models: ['gemma4:*'],
    },
  }),
  'model A on node 1, model B on both': {
    workers: [
      {
        name: 'node-1',
        url: 'http://10.10.11.10:11434',
        max_concurrent: 4,
        model_placement: {
          mode: 'whitelist',
          allowed_models: ['model-a:*', 'model-b:*'],
          denied_models: [],
        },
      },
      {
        name: 'node-2',
        url: 'http://10.10.11.20:11434',
        max_concurrent: 2,
        model_placement: { mode: 'whitelist', allowed_models: ['model-b:*'], denied_models: [] },
      },
    ],
  },
  'preflight and context guard': {
    model_capabilities: {
      mode: 'enforce',
      cache_ttl: '10m',
      context_guard: 'reject',
      context: {
        max_requested_tokens: 32768,
        default_worker_tokens: 4096,
        estimation_margin_percent: 15,
        vision_reserve_tokens_per_image: 2048,
      },
    },
  },
  'concurrency per model': worker({ model_concurrency: { 'qwen3:8b': 2, 'gemma4:*': 1, '*': 1 } }),
  'weights of routing': {
    routing: {
      loaded_bonus: 60,
      installed_bonus: 30,
      throughput_bonus: 20,
      vram_pressure_penalty: 35,
      gpu_utilization_penalty: 10,
      avoid_vram_percent: 97,
    },
  },
  'GPU telemetry': worker({ nvidia_smi: true, nvidia_gpu: '0' }),
  'context of a worker': worker({
    default_context_tokens: 8192,
    context_limits: { 'gemma4:*': 8192 },
  }),
  'context of a small worker': worker({ default_context_tokens: 4096 }),
  'state files': {
    storage: {
      model_placement_file: 'model-placement.json',
      worker_performance_file: 'worker-performance.json',
    },
  },
  'model access list': {
    tenants: [{ name: 'default', allowed_models: ['qwen3:*', 'embeddinggemma:*'] }],
  },
}

for (const [name, snippet] of Object.entries(SNIPPETS)) {
  test(`seed snippet: ${name}`, () => {
    const faults = problems(snippet).filter((text) => !text.includes('not built yet: '))
    assert.deepEqual(faults, [])
  })
}

test('the examples of docs load without a word', () => {
  const example = loadConfigFile(path.join(ROOT, 'docs/config.example.json'), {})
  assert.ok(example.ok && example.warnings.length === 0 && example.config.workers.length === 3)
  const profile = loadConfigFile(path.join(ROOT, 'docs/config.rtx4090.example.json'), {})
  assert.ok(profile.ok && profile.warnings.length === 0)
  assert.equal(profile.config.workers[0]?.nvidia_gpu, '0')
})

test('what is not built yet is accepted at its default and refused at anything else', () => {
  const table = [
    { path: 'drain_timeout', part: 'draining' },
    { path: 'workers[].why', part: 'cards', works: ['x'] },
  ]
  const paths = (raw: unknown): string[] => notBuiltYet(raw, table).map((problem) => problem.path)
  assert.deepEqual(paths({}), [])
  assert.deepEqual(paths({ drain_timeout: '300s', workers: [{ why: '' }, { why: 'x' }] }), [])
  assert.deepEqual(paths({ drain_timeout: '1s', workers: [{}, { why: 'y' }] }), [
    'drain_timeout',
    'workers[1].why',
  ])
  assert.equal(notBuiltYet({ drain_timeout: '1s' }, table)[0]?.message, 'not built yet: draining')
})

// A gateway that listens on every address of its machine is its own worker by any of their names,
// also by one that only this machine knows.
test('no name of this machine is a worker where the gateway listens on all of them', () => {
  const local = new Set(['box', '192.0.2.7'])
  const found = (listen: string, url: string): string[] =>
    crossChecks(soundParts({ listen, workers: [{ name: 'a', url }] }), local).problems.map(
      problemText,
    )
  for (const url of ['http://192.0.2.7:11435', 'http://box:11435', 'http://127.0.0.1:11435']) {
    assert.match(found('0.0.0.0:11435', url).join(), /workers\[0\].url: is the gateway’s own/, url)
    assert.match(found('[::]:11435', url).join(), /workers\[0\].url: is the gateway’s own/, url)
  }
  assert.deepEqual(found('127.0.0.1:11435', 'http://192.0.2.7:11435'), [])
  assert.deepEqual(found('0.0.0.0:11435', 'http://192.0.2.7:11434'), [])
  assert.deepEqual(found('0.0.0.0:11435', 'http://192.0.2.8:11435'), [])
})

// Editors of Windows write UTF-16 and old code pages. Read as UTF-8 the first is noise, and the
// other changes names and secrets without a word.
test('a file that is no UTF-8 is refused, and told as what it is', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-config-'))
  const file = path.join(folder, 'config.json')
  const problems = (bytes: Buffer): string[] => {
    writeFileSync(file, bytes)
    const result = loadConfigFile(file, {})
    return result.ok ? [] : result.problems.map(problemText)
  }
  try {
    const text = '{\n  "workers": [{"name": "a", "why": "Büro", "url": "w"}]}'
    assert.deepEqual(problems(Buffer.from(`\uFEFF${text}`)), [])
    const wide = Buffer.from(`\uFEFF${text}`, 'utf16le')
    assert.deepEqual(problems(wide), ['config: the file is UTF-16; save it as UTF-8'])
    assert.deepEqual(problems(Buffer.from(wide).swap16()), [
      'config: the file is UTF-16; save it as UTF-8',
    ])
    assert.deepEqual(problems(Buffer.from(text, 'latin1')), [
      'line 2, column 38: this is no UTF-8; save the file as UTF-8',
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
