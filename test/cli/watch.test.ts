// What goes on until Ctrl-C: --watch, events -f, pull.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Handlers } from '../../src/gateway/admin/handlers.ts'
import type { OutputOf } from '../../src/gateway/contract/schema.ts'
import { startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'
import { run } from '../support/run-cli.ts'

type WatchLine = OutputOf<'watch'>

const snapshot: OutputOf<'snapshot'> = {
  mono: 61_000,
  gateway: fleet.status,
  traffic: fleet.status.traffic,
  placement: { revision: 42, last: null, orphans: [] },
  workers: fleet.workers,
  models: fleet.models,
  requests: fleet.requests,
  events: fleet.events,
}

/** A gateway whose first worker gets one more queued request at each `change()`. */
function changingFleet() {
  let queued = 0
  let wake = Promise.withResolvers<void>()
  const handlers: Partial<Handlers> = {
    'workers.list': () => [fleet.worker('node-1', 0, { queued })],
    watch: async function* (_input, { signal }): AsyncGenerator<WatchLine> {
      yield { type: 'snapshot', snapshot }
      signal.addEventListener('abort', () => wake.resolve(), { once: true })
      while (!signal.aborted) {
        await wake.promise
        wake = Promise.withResolvers()
        yield { type: 'change', mono: 62_000 }
      }
    },
  }
  return {
    handlers,
    change(by: number): void {
      queued += by
      wake.resolve()
    },
  }
}

test('--watch --json prints one document a line, after each real change, until Ctrl-C', async () => {
  const { handlers, change } = changingFleet()
  await using admin = await startFakeAdmin(handlers)
  const ctrlC = new AbortController()
  let lines = 0
  const ran = await run(['workers', '--watch', '--json'], {
    socket: admin.socket,
    interrupt: ctrlC.signal,
    onStdout() {
      lines += 1
      if (lines === 1) {
        change(0) // a change of something else prints nothing
        setImmediate(() => change(1))
      }
      if (lines === 2) ctrlC.abort()
    },
  })
  assert.equal(ran.code, 130)
  const documents = ran.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as OutputOf<'workers.list'>)
  assert.deepEqual(
    documents.map(([first]) => first?.queued),
    [0, 1],
  )
  assert.equal(ran.stderr, '')
})

test('--watch separates tables in a pipe and redraws in place on a terminal', async () => {
  for (const terminal of [undefined, 100]) {
    const { handlers, change } = changingFleet()
    await using admin = await startFakeAdmin(handlers)
    const ctrlC = new AbortController()
    let tables = 0
    const ran = await run(['workers', '--watch'], {
      socket: admin.socket,
      interrupt: ctrlC.signal,
      ...(terminal !== undefined && { terminal }),
      onStdout(text) {
        if (!text.startsWith('NAME')) return
        tables += 1
        if (tables === 1) change(1)
        else ctrlC.abort()
      },
    })
    const between = ran.stdout.split('NAME').slice(1).length
    assert.equal(between, 2)
    if (terminal === undefined) assert.match(ran.stdout, /\n\nNAME/)
    else assert.ok(ran.stdout.startsWith('\u001b[H\u001b[JNAME'))
    assert.ok(!ran.stdout.includes('\u001b[2J'), 'the scrollback is left alone')
  }
})

test('--watch ends with the gateway, and says so', async () => {
  await using admin = await startFakeAdmin({
    'workers.list': () => fleet.workers,
    watch: async function* () {
      yield { type: 'snapshot', snapshot }
    },
  })
  const ran = await run(['workers', '--watch', '--json'], { socket: admin.socket })
  assert.equal(ran.code, 4)
  assert.match(ran.stderr, /connection to the gateway broke/)
})

test('events -f prints what comes until Ctrl-C', async () => {
  await using admin = await startFakeAdmin({
    'events.follow': async function* (_input, { signal }) {
      yield* fleet.events
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  })
  const ctrlC = new AbortController()
  let seen = 0
  const ran = await run(['events', '-f', '--json'], {
    socket: admin.socket,
    interrupt: ctrlC.signal,
    onStdout() {
      seen += 1
      if (seen === 2) ctrlC.abort()
    },
  })
  assert.equal(ran.code, 130)
  assert.equal(ran.stderr, '')
  assert.deepEqual(
    ran.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    fleet.events,
  )
})

const progress = {
  digest: null,
  completed_bytes: null,
  total_bytes: null,
  done: false,
  error: null,
}

async function* pulling(): AsyncGenerator<OutputOf<'models.pull'>> {
  yield { ...progress, worker: 'node-1', status: 'pulling manifest' }
  yield {
    ...progress,
    worker: 'рабочий-2',
    status: 'pulling\u001b[2J',
    completed_bytes: 26,
    total_bytes: 52,
  }
  yield { ...progress, worker: 'node-1', status: 'success', done: true }
  yield { ...progress, worker: 'рабочий-2', status: 'success', done: true }
}

test('pull: a bar per worker on a terminal, drawn in place on stderr', async () => {
  await using admin = await startFakeAdmin({ 'models.pull': pulling })
  const ran = await run(['models', 'pull', 'm', '--all'], { socket: admin.socket, terminal: 80 })
  assert.equal(ran.code, 0)
  assert.equal(ran.stdout, 'node-1: success\nрабочий-2: success\n')
  assert.ok(ran.stderr.includes('\u001b[2A\r\u001b[2Knode-1      success\n'), ran.stderr)
  assert.ok(!ran.stderr.includes('\u001b[2J'), 'what the worker says steers nothing')
})

test('pull: plain lines in a log, nothing but JSON on stdout with --json', async () => {
  await using admin = await startFakeAdmin({ 'models.pull': pulling })
  const ran = await run(['models', 'pull', 'm', '--all', '--json'], { socket: admin.socket })
  assert.deepEqual(
    (JSON.parse(ran.stdout) as OutputOf<'models.pull'>[]).map(({ worker, done }) => [worker, done]),
    [
      ['node-1', true],
      ['рабочий-2', true],
    ],
  )
  assert.ok(!ran.stderr.includes('\u001b'))
})

test('pull: Ctrl-C hangs up, so that the gateway stops the download', async () => {
  const hungUp = Promise.withResolvers<void>()
  await using admin = await startFakeAdmin({
    'models.pull': async function* (_input, { signal }) {
      signal.addEventListener('abort', () => hungUp.resolve(), { once: true })
      yield { ...progress, worker: 'node-1', status: 'pulling manifest' }
      ctrlC.abort()
      await hungUp.promise
    },
  })
  const ctrlC = new AbortController()
  const ran = await run(['models', 'pull', 'm', '--worker', 'node-1'], {
    socket: admin.socket,
    interrupt: ctrlC.signal,
  })
  assert.equal(ran.code, 130)
  assert.equal(ran.stdout, '')
  await hungUp.promise
})

test('pull: a stream that ends before its worker did is a failure', async () => {
  await using admin = await startFakeAdmin({
    'models.pull': async function* () {
      yield { ...progress, worker: 'node-1', status: 'pulling manifest' }
    },
  })
  const ran = await run(['models', 'pull', 'm', '--all'], { socket: admin.socket })
  assert.equal(ran.code, 1)
  assert.match(ran.stderr, /node-1: it stopped at "pulling manifest"/)
})
