// The commands against the real gateway over simulated workers: what an operator does to placement
// holds for the next request, breaks no running stream, survives, and can be taken back.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import type { RequestDetail } from '../../src/gateway/contract/schema/requests.ts'
import { startRig } from '../support/rig.ts'
import { run } from '../support/run-cli.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'ogw-cli-gateway-'))
after(() => rmSync(folder, { recursive: true }))

let rigs = 0

async function startFleet() {
  rigs += 1
  const socket = path.join(folder, `${rigs}.sock`)
  const worker = { models: ['qwen3:8b'], loadMs: 0, tokenMs: 10, tokens: 30 }
  const rig = await startRig({ workers: [worker, worker], config: { admin: { socket } } })
  const ogw = async (line: string, stdin?: string): Promise<string> => {
    const ran = await run(line.split(' '), { socket, ...(stdin !== undefined && { stdin }) })
    assert.equal(ran.code, 0, `ogw ${line}: ${ran.stderr}`)
    return ran.stdout
  }
  const chat = () =>
    rig.post('/api/chat', { model: 'qwen3:8b', messages: [{ role: 'user', content: 'hi' }] })
  return { rig, socket, ogw, chat }
}

test('deny and allow hold for the next request; running streams go on; undo brings the matrix back', async () => {
  const { rig, socket, ogw, chat } = await startFleet()
  await using _ = rig
  const before = await ogw('placement --json')
  const running = await Promise.all([chat(), chat(), chat(), chat()])
  const served = new Set(running.map(({ headers }) => headers.get('x-ogw-worker') ?? ''))
  assert.deepEqual([...served].toSorted(), ['node-1', 'node-2'], 'both workers are at it')

  await ogw('placement deny qwen3:8b node-2')
  for (let index = 0; index < 4; index += 1) {
    const answer = await chat()
    assert.equal(answer.headers.get('x-ogw-worker'), 'node-1')
    await answer.body?.cancel()
  }
  for (const answer of running) {
    const lines = (await answer.text()).trim().split('\n')
    assert.match(lines.at(-1) ?? '', /"done":true/, 'no running stream was broken')
  }

  const verdict = JSON.parse(await ogw('placement why qwen3:8b node-2 --json')) as object
  assert.deepEqual(verdict, {
    model: 'qwen3:8b',
    worker: 'node-2',
    allowed: false,
    decided_by: { kind: 'exact', pattern: 'qwen3:8b' },
    layer: 'override',
    competing: [],
  })
  assert.match(await ogw('placement'), /^qwen3:8b +. +✗↳$/m)

  const exported = await ogw('placement export')
  assert.equal(await ogw('placement apply -f - --dry-run', exported), 'no change\n')
  // An editor may have put a byte order mark in front.
  assert.equal(await ogw('placement apply -f - --dry-run', `\uFEFF${exported}`), 'no change\n')

  const last = await run(['placement', 'deny', 'qwen3:8b', 'node-1'], { socket })
  assert.deepEqual([last.code, last.stdout], [6, ''])
  assert.match(last.stderr, /left for:\n {4}qwen3:8b\n/)

  await ogw('placement allow qwen3:8b node-2')
  const [allowed, denied] = JSON.parse(await ogw('placement history --json')) as {
    operation: string
  }[]
  assert.deepEqual(
    [allowed?.operation, denied?.operation],
    ['allow qwen3:8b node-2', 'deny qwen3:8b node-2'],
  )
  await ogw('placement undo')
  await ogw('placement undo')
  const known = (text: string): unknown =>
    // A model that was loaded meanwhile is loaded still: only rules are taken back.
    JSON.parse(text.replaceAll('"loaded"', '"installed"'))
  assert.deepEqual(known(await ogw('placement --json')), known(before))
})

test('every read gives a document that the contract knows, and a table', async () => {
  const { rig, ogw } = await startFleet()
  await using _ = rig
  const lines = [
    'status',
    'health',
    'workers',
    'workers show node-1',
    'placement',
    'placement why qwen3:8b',
    'placement export',
    'placement history',
    'models',
    'models show qwen3:8b',
    'requests',
    'explain qwen3:8b --tools --ctx 100',
    'storage',
    'events',
    'audit',
  ]
  for (const line of lines) {
    JSON.parse(await ogw(`${line} --json`))
    assert.notEqual(await ogw(line), '', line)
  }
})

test('a request that waits is seen, explained and cancelled', async () => {
  const { rig, ogw, chat } = await startFleet()
  await using _ = rig
  const answer = await chat()
  const id = answer.headers.get('x-request-id') ?? ''
  const [row] = JSON.parse(await ogw('requests --json')) as { id: string; phase: string }[]
  assert.equal(row?.id, id)
  assert.match(await ogw(`requests show ${id}`), /passed +\d/)
  await ogw(`requests cancel ${id}`)
  assert.match(await answer.text(), /cancelled by an operator \(anna@cli\)/)
})

test('operators see what was asked for, and what nobody waits for', async () => {
  const socket = path.join(folder, 'names.sock')
  const models = ['big:32b', { name: 'small:8b', capabilities: ['completion'] }, 'tools:8b']
  const messages = [{ role: 'user', content: 'hi' }]
  await using rig = await startRig({
    workers: [{ models }],
    config: {
      admin: { socket },
      aliases: { 'gpt-4o': 'big:32b' },
      fallbacks: [{ model: 'small:*', missing: ['tools'], use: 'tools:8b' }],
    },
  })
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const task = [{ role: 'user', content: '### Task:\nGenerate a title' }]
  const asks: { body: object; row: [string, string | null, string] }[] = [
    { body: { model: 'GPT-4o', messages }, row: ['big:32b', 'GPT-4o', 'interactive'] },
    { body: { model: 'small:8b', messages, tools }, row: ['tools:8b', 'small:8b', 'interactive'] },
    { body: { model: 'Big:32b', messages: task }, row: ['big:32b', null, 'background'] },
  ]
  for (const { body, row } of asks) {
    const answer = await rig.post('/api/chat', body)
    const id = answer.headers.get('x-request-id') ?? ''
    const seen = async () => {
      const { stdout } = await run(['requests', 'show', id, '--json'], { socket })
      const shown = JSON.parse(stdout) as RequestDetail
      return [shown.model, shown.asked_model, shown.priority]
    }
    assert.deepEqual(await seen(), row, 'while it runs')
    await answer.text()
    await rig.quiet()
    assert.deepEqual(await seen(), row, 'once it is over')
  }
})

test('drain and resume: no new request there, and it says so', async () => {
  const { rig, ogw, chat } = await startFleet()
  await using _ = rig
  await ogw('workers drain node-1')
  for (let index = 0; index < 3; index += 1) {
    const answer = await chat()
    assert.equal(answer.headers.get('x-ogw-worker'), 'node-2')
    await answer.body?.cancel()
  }
  assert.match(await ogw('workers'), /^node-1 +up,draining/m)
  await ogw('workers resume node-1')
  assert.match(await ogw('workers'), /^node-1 +up +/m)
})
