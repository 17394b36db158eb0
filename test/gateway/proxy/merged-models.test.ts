import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  HIDDEN_AFTER_MS,
  listWarning,
  lowestVersion,
  mergedInstalled,
  mergedLoaded,
  modelList,
  modelObject,
  psRow,
  shownWorkers,
  tagsRow,
} from '../../../src/gateway/proxy/merged-models.ts'
import { aWorker, DIGEST, down, installed, loadedModel } from '../../support/worker-records.ts'

const keys = (rows: ReadonlyMap<string, unknown>): string[] => [...rows.keys()]

// B106: the same model on many workers, in two spellings of one name, is one row.
test('a model has one row, from the first worker in config order that has it', () => {
  const first = aWorker({ name: 'node-1', installed: [installed('qwen3:8b', { size: 1 })] })
  const second = aWorker({
    name: 'node-2',
    installed: [installed('Qwen3:8b', { size: 2 }), installed('gemma4:12b')],
  })
  const rows = mergedInstalled([first, second])
  assert.deepEqual(keys(rows), ['gemma4:12b', 'qwen3:8b'])
  assert.equal(rows.get('qwen3:8b')?.model.size, 1)
  assert.equal(mergedInstalled([second, first]).get('qwen3:8b')?.model.size, 2)
})

test('the newest model comes first, equal times are ordered by name', () => {
  const worker = aWorker({
    name: 'node-1',
    installed: [
      installed('b', {}, '2026-01-02T00:00:00Z'),
      installed('a', {}, '2026-01-02T00:00:00Z'),
      installed('old', {}, '2026-01-01T23:00:00+02:00'),
      installed('new', {}, '2026-01-01T23:00:00-02:00'),
    ],
  })
  assert.deepEqual(keys(mergedInstalled([worker])), [
    'new:latest',
    'a:latest',
    'b:latest',
    'old:latest',
  ])
})

// B112: placement is hard, and a model that may run nowhere is not offered.
test('a model that is installed only where placement blocks it is not listed', () => {
  const blocking = aWorker({
    name: 'node-1',
    placement: { denied_models: ['alpha:8b'] },
    installed: [installed('alpha:8b', { size: 1 }), installed('alpha:1b')],
    loaded: [loadedModel('alpha:8b'), loadedModel('alpha:1b')],
  })
  assert.deepEqual(keys(mergedInstalled([blocking])), ['alpha:1b'])
  assert.deepEqual(keys(mergedLoaded([blocking])), ['alpha:1b'])
  const allowing = aWorker({ name: 'node-2', installed: [installed('alpha:8b', { size: 2 })] })
  assert.equal(mergedInstalled([blocking, allowing]).get('alpha:8b')?.model.size, 2)
})

test('a cloud stub is listed only where an exact rule allows it, whatever its name', () => {
  const stubs = [
    installed('gpt-oss:120b-cloud', { remoteHost: 'https://ollama.com:443' }),
    installed('plain:latest', { remoteHost: 'https://ollama.com:443' }),
  ]
  const wide = aWorker({
    name: 'node-1',
    placement: { allowed_models: ['*', 'plain:*', 'gpt-oss:*'] },
    installed: stubs,
  })
  assert.deepEqual(keys(mergedInstalled([wide])), [])
  const exact = aWorker({
    name: 'node-2',
    placement: { allowed_models: ['gpt-oss:120b-cloud', 'plain'] },
    installed: stubs,
  })
  assert.deepEqual(keys(mergedInstalled([wide, exact])).toSorted(), [
    'gpt-oss:120b-cloud',
    'plain:latest',
  ])
})

// B109: a host that is off for a day must not go on advertising its models; a short nap must not
// make them vanish.
test('a worker leaves the lists once it has been down for ten minutes', () => {
  const napping = down(aWorker({ name: 'node-1' }), 1000)
  assert.deepEqual(shownWorkers([napping], 1000 + HIDDEN_AFTER_MS - 1), [napping])
  assert.deepEqual(shownWorkers([napping], 1000 + HIDDEN_AFTER_MS), [])
  const up = aWorker({ name: 'node-2' })
  assert.deepEqual(shownWorkers([napping, up], 10 * HIDDEN_AFTER_MS), [up])
})

test('rows of /api/tags have a real one’s keys, in its order', () => {
  const row = tagsRow(
    installed('chat:latest', { details: { family: 'llama', families: null } }, 'yesterday'),
  )
  assert.equal(
    JSON.stringify(row),
    `{"name":"chat:latest","model":"chat:latest","modified_at":"0001-01-01T00:00:00Z","size":620239,"digest":"${DIGEST}","details":{"family":"llama","families":[]},"capabilities":["completion","tools"]}`,
  )
  const old = tagsRow(installed('chat', { capabilities: undefined }))
  assert.ok(!('capabilities' in old))
  const stub = tagsRow(
    installed('s:cloud', { remoteHost: 'https://ollama.com:443', remoteModel: 's' }),
  )
  assert.deepEqual(Object.keys(stub).slice(0, 5), [
    'name',
    'model',
    'remote_model',
    'remote_host',
    'modified_at',
  ])
})

test('rows of /api/ps have a real one’s keys, in its order', () => {
  const row = psRow(loadedModel('chat:latest', { details: {} }))
  assert.equal(
    JSON.stringify(row),
    `{"name":"chat:latest","model":"chat:latest","size":7958691,"digest":"${DIGEST}","details":{},"expires_at":"2026-11-30T02:01:24.057762018Z","size_vram":0,"context_length":4096}`,
  )
  assert.ok(!('context_length' in psRow(loadedModel('chat', { contextLength: undefined }))))
})

test('an entry of /v1/models is good for OpenAI’s and for Anthropic’s clients', () => {
  assert.deepEqual(modelObject('chat', installed('chat:latest')), {
    id: 'chat',
    object: 'model',
    created: 1796003651,
    owned_by: 'library',
    type: 'model',
    display_name: 'chat:latest',
    created_at: '2026-11-30T01:54:11.771Z',
  })
  const owners = ['hf.co/unsloth/Qwen3:Q4', 'mattw/tool:1', 'chat'].map((name) => {
    return JSON.stringify(modelObject(name, installed(name)))
  })
  assert.match(owners.join(' '), /"unsloth".*"mattw".*"library"/)
  const list = modelList(
    [installed('a'), installed('b')].map((row) => [row.model.name, row] as const),
  )
  assert.deepEqual(
    { ...list, data: undefined },
    { object: 'list', data: undefined, has_more: false, first_id: 'a', last_id: 'b' },
  )
  assert.deepEqual(modelList([]), {
    object: 'list',
    data: [],
    has_more: false,
    first_id: null,
    last_id: null,
  })
})

const versions: [fleet: (string | undefined)[], lowest: string][] = [
  [[], '0.33.0'],
  [[undefined], '0.33.0'],
  [['0.30.2', '0.9.11', undefined], '0.9.11'],
  [['0.33.0-rc2'], '0.33.0'],
  [['v0.31.0'], '0.31.0'],
  [['0.0.0', '0.32.1'], '0.32.1'],
  [['0.0.0'], '0.33.0'],
  [['nonsense', '1.0.0'], '1.0.0'],
  [['0.10.0', '0.10.0'], '0.10.0'],
]

test('the version is the lowest of the fleet, as three plain numbers', () => {
  for (const [fleet, lowest] of versions) assert.equal(lowestVersion(fleet), lowest, fleet.join())
})

test('a list that may lack something says so in a header that HTTP can carry', () => {
  const known = aWorker({ name: 'node-1', installed: [] })
  assert.equal(listWarning([known]), undefined)
  assert.equal(
    listWarning([
      known,
      down(aWorker({ name: 'gerät', installed: [] }), 0),
      aWorker({ name: 'n3' }),
    ]),
    'the list may be incomplete: worker ger%C3%A4t is down; worker n3 has not been read yet',
  )
  const many = Array.from({ length: 200 }, (_, index) => aWorker({ name: `node-${index}` }))
  assert.match(listWarning(many) ?? '', /; and 190 more$/)
})
