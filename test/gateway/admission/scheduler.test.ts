import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import type { Lease } from '../../../src/gateway/admission/ask.ts'
import { Scheduler } from '../../../src/gateway/admission/scheduler.ts'
import { GatewayError } from '../../../src/gateway/errors.ts'
import type { FaultCode } from '../../../src/gateway/errors.ts'
import { Fleet } from '../../../src/gateway/fleet/fleet.ts'
import type { Ask } from '../../../src/gateway/policy/ask.ts'
import { LOAD_PATIENCE_MS, STUCK_AFTER_MS } from '../../../src/gateway/policy/pending-load.ts'
import { schedulerRig } from '../../support/fake-fleet.ts'

const live = (): AbortSignal => new AbortController().signal

/** What a request has come to, looked at without waiting for it. */
interface Watched {
  lease?: Lease
  error?: unknown
}

function send(scheduler: Scheduler, ask: Ask, signal = live()): Watched {
  const watched: Watched = {}
  scheduler.request(ask, signal).then(
    (lease) => (watched.lease = lease),
    (error: unknown) => (watched.error = error),
  )
  return watched
}

const waits = ({ lease, error }: Watched): boolean => lease === undefined && error === undefined

/** Lets promises that are settled already be heard of. */
const heard = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function refused(promise: Promise<Lease>): Promise<GatewayError> {
  const error = await promise.then(
    (lease) => assert.fail(`granted on ${lease.worker}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof GatewayError, String(error))
  return error
}

const one = { name: 'w1', config: { max_concurrent: 1 }, installed: ['m:1'], loaded: ['m:1'] }

test('what finds a slot gets it at once; what finds none waits for it', async () => {
  const { scheduler, ask } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  assert.equal(first.worker, 'w1')
  assert.equal(first.warm, true)
  const second = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(second))
  assert.equal(scheduler.waitingCount(), 1)
  assert.match(scheduler.waiting()[0]?.reasons[0]?.reason ?? '', /the only slot is taken/)
  first[Symbol.dispose]()
  await heard()
  assert.equal(second.lease?.worker, 'w1')
  assert.equal(scheduler.waitingCount(), 0)
})

// A wait is measured from one reading of the clock to another, never to an earlier one: the client
// is told it in a header, and a histogram cannot take less than nothing.
test('a request that finds a slot at once has not waited, however long its decision took', async () => {
  const { scheduler, ask, clock } = schedulerRig([one])
  const { mono } = clock
  let late = 0
  clock.mono = () => mono() + (late += 1)
  const { queueMs } = await scheduler.request(ask('m:1'), live())
  assert.equal(queueMs, 0)
})

test('a lease that is disposed twice gives back one slot', async () => {
  const { scheduler, ask } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  first.begun()
  assert.equal(scheduler.inFlight('w1'), 0)
  await scheduler.request(ask('m:1'), live())
  const third = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(third))
  assert.equal(scheduler.inFlight('w1'), 1)
})

// B030: ghosts in the queue burn a prefill for nobody.
test('those who leave the queue are out at once and never reach a worker', async () => {
  const { scheduler, ask, clock } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  const clients = Array.from({ length: 19 }, () => new AbortController())
  const sent = clients.map(({ signal }) => send(scheduler, ask('m:1'), signal))
  for (const client of clients.slice(0, 18)) client.abort(new Error('gone'))
  assert.equal(scheduler.waitingCount(), 1)
  first[Symbol.dispose]()
  await heard()
  assert.deepEqual(
    sent.map(({ lease }) => lease !== undefined),
    [...Array.from({ length: 18 }, () => false), true],
  )
  assert.match(String(sent[0]?.error), /gone/)
  sent[18]?.lease?.[Symbol.dispose]()
  assert.equal(scheduler.inFlight('w1'), 0)
  assert.equal(clock.pending, 0, 'no timer is left')
})

// One signal may stand for many requests of a process that lives for months.
test('nothing is left on the signal of a request that has waited', async () => {
  const { scheduler, ask } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  const signal = live()
  const waiting = send(scheduler, ask('m:1'), signal)
  assert.equal(getEventListeners(signal, 'abort').length, 1)
  first[Symbol.dispose]()
  await heard()
  assert.equal(waiting.lease?.worker, 'w1')
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a client that has left already takes no slot', async () => {
  const { scheduler, ask } = schedulerRig([one])
  await assert.rejects(scheduler.request(ask('m:1'), AbortSignal.abort(new Error('gone'))), /gone/)
  assert.equal(scheduler.inFlight('w1'), 0)
})

// One line per refusal: the workers, the model, what the client is told.
const refusals: [
  name: string,
  workers: Parameters<typeof schedulerRig>[0],
  model: string,
  code: FaultCode,
  says: RegExp,
][] = [
  ['no worker at all', [], 'm:1', 'no_worker_up', /no worker is configured/],
  [
    'B112: blocked here, not installed there',
    [
      {
        name: 'w1',
        installed: ['m:1'],
        config: { model_placement: { denied_models: ['m:1'], allowed_models: ['m:*'] } },
      },
      { name: 'w2', installed: [], config: { model_placement: { mode: 'whitelist' } } },
    ],
    'm:1',
    'model_blocked',
    /w1: blocked by placement rule deny m:1 \(config\); w2: blocked by placement mode whitelist \(config\)/,
  ],
  [
    'installed nowhere',
    [
      { name: 'w1', installed: ['n'] },
      { name: 'w2', installed: [] },
    ],
    'm:1',
    'model_not_installed',
    /w1: not installed; w2: not installed/,
  ],
  [
    'only on a worker that is down',
    [
      {
        name: 'w1',
        installed: ['m:1'],
        health: {
          state: 'down',
          sinceMono: -40_000,
          sinceWall: 0,
          error: 'connect ECONNREFUSED 10.0.0.1:11434',
        },
      },
      { name: 'w2', installed: [] },
    ],
    'm:1',
    'no_worker_up',
    /w1: down since 41 s: connect ECONNREFUSED 10\.0\.0\.1:11434; w2: not installed/,
  ],
  ['a cloud model', [{ name: 'w1' }], 'kimi-k2:cloud', 'model_is_cloud', /an exact allow rule/],
]

for (const [name, workers, model, code, says] of refusals) {
  test(`refused at once: ${name}`, async () => {
    const { scheduler, ask } = schedulerRig(workers)
    const error = await refused(scheduler.request(ask(model), live()))
    assert.equal(error.fault.code, code)
    assert.match(error.message, says)
    assert.equal(scheduler.waitingCount(), 0)
  })
}

// B032: what preflight refuses must not have taken a slot.
test('refusals of every kind leave all slots free', async () => {
  const { scheduler, ask } = schedulerRig([one], {
    config: { model_capabilities: { context: { max_requested_tokens: 1000 } } },
  })
  const bad: [Ask, FaultCode][] = [
    [ask('m:1', { needs: ['vision'] }), 'capability_missing'],
    [ask('m:1', { contextTokens: 5_000 }), 'context_too_long'],
    [ask('m:1', { numCtx: 5_000 }), 'num_ctx_invalid'],
    [ask('n:1'), 'model_not_installed'],
  ]
  for (const [request, code] of bad) {
    const error = await refused(scheduler.request(request, live()))
    assert.equal(error.fault.code, code)
  }
  assert.equal(scheduler.inFlight('w1'), 0)
  assert.equal((await scheduler.request(ask('m:1'), live())).worker, 'w1')
})

test('an exact allow rule opens a cloud model past the inventory', async () => {
  const config = { model_placement: { allowed_models: ['kimi-k2:cloud'] } }
  const { scheduler, ask } = schedulerRig([{ name: 'w1', installed: [], config }])
  assert.equal((await scheduler.request(ask('kimi-k2:cloud'), live())).worker, 'w1')
})

test('known copies only, even while they are full', async () => {
  const { scheduler, ask, fleet, clock } = schedulerRig([one, { name: 'w2' }])
  const first = await scheduler.request(ask('m:1'), live())
  assert.equal(first.worker, 'w1')
  const second = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(second), 'w2 might not have it')
  fleet.down('w1', clock.mono())
  await heard()
  assert.equal(second.lease?.worker, 'w2', 'now nobody is known to have it')
})

// B001: absent must fail at once, and there is no bypass.
test('waiters whose last worker goes down fail at once, with reasons', async () => {
  const { scheduler, ask, fleet, clock } = schedulerRig([one])
  await scheduler.request(ask('m:1'), live())
  const waiting = [send(scheduler, ask('m:1')), send(scheduler, ask('m:1'))]
  fleet.worker('w1').nextProbeAt = clock.mono() + 4_200
  fleet.down('w1', clock.mono())
  await heard()
  for (const { error } of waiting) {
    assert.ok(error instanceof GatewayError)
    assert.equal(error.fault.code, 'no_worker_up')
    assert.equal(error.retryAfterS, 5)
    assert.match(error.message, /w1: down since 1 s: connect ECONNREFUSED/)
  }
  const late = await refused(scheduler.request(ask('m:1'), live()))
  assert.equal(late.fault.code, 'no_worker_up')
})

test('waiters whose last worker is blocked by placement fail at once', async () => {
  const { scheduler, ask, fleet } = schedulerRig([one])
  await scheduler.request(ask('m:1'), live())
  const waiting = send(scheduler, ask('m:1'))
  const { compilePlacement } = await import('../../../src/gateway/policy/placement.ts')
  fleet.change('w1', (record) => {
    record.placement = compilePlacement({
      mode: 'whitelist',
      allowed_models: [],
      denied_models: [],
    })
    record.placementLayer = 'override'
  })
  await heard()
  assert.ok(waiting.error instanceof GatewayError)
  assert.match(waiting.error.message, /w1: blocked by placement mode whitelist \(override\)/)
})

test('requests wait for a worker that is not probed yet', async () => {
  const { scheduler, ask, fleet } = schedulerRig([{ name: 'w1', health: { state: 'starting' } }])
  const waiting = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(waiting))
  fleet.change('w1', (record) => (record.health = { state: 'up', sinceMono: 0 }))
  await heard()
  assert.equal(waiting.lease?.worker, 'w1')
})

test('a request that waits longer than it may is told when to come back', async () => {
  const { scheduler, ask, clock } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  clock.advance(4_000)
  first[Symbol.dispose]()
  await scheduler.request(ask('m:1'), live())
  const waiting = send(scheduler, ask('m:1', { waitUntil: clock.mono() + 2_000 }))
  clock.advance(1_999)
  await heard()
  assert.ok(waits(waiting))
  clock.advance(1)
  await heard()
  assert.ok(waiting.error instanceof GatewayError)
  assert.deepEqual(waiting.error.fault, {
    code: 'queue_timeout',
    model: 'm:1',
    waitedMs: 2_000,
    retryAfterS: 4,
  })
})

test('nobody is told to come back in more than a minute, or in no time', async () => {
  for (const [tookMs, retryAfterS] of [
    [600_000, 60],
    [10, 1],
  ] as const) {
    const { scheduler, ask, clock } = schedulerRig([one])
    const first = await scheduler.request(ask('m:1'), live())
    clock.advance(tookMs)
    first[Symbol.dispose]()
    await scheduler.request(ask('m:1'), live())
    const waiting = send(scheduler, ask('m:1', { waitUntil: clock.mono() + 1_000 }))
    clock.advance(1_000)
    await heard()
    assert.ok(waiting.error instanceof GatewayError)
    assert.equal(waiting.error.retryAfterS, retryAfterS)
  }
})

test('a full queue refuses the newest waiter of the tenant most over its share', async () => {
  const { scheduler, ask } = schedulerRig([one], { config: { admission: { max_queue: 3 } } })
  await scheduler.request(ask('m:1'), live())
  const flood = [1, 2, 3].map((n) => send(scheduler, ask('m:1', { tenant: 'flood', enteredAt: n })))
  const guest = send(scheduler, ask('m:1', { tenant: 'guest' }))
  await heard()
  assert.deepEqual(
    flood.map(({ error }) => error === undefined),
    [true, true, false],
  )
  assert.ok(flood[2]?.error instanceof GatewayError)
  assert.equal(flood[2].error.fault.code, 'queue_full')
  assert.ok(waits(guest))
  const more = await refused(scheduler.request(ask('m:1', { tenant: 'flood' }), live()))
  assert.equal(more.fault.code, 'queue_full')
  assert.equal(scheduler.waitingCount(), 3)
})

test('a tenant over max_in_flight waits while slots are free', async () => {
  const config = { tenants: [{ name: 'small', max_in_flight: 1 }] }
  const { scheduler, ask } = schedulerRig([{ name: 'w1', installed: ['m:1'], loaded: ['m:1'] }], {
    config,
  })
  const first = await scheduler.request(ask('m:1', { tenant: 'small' }), live())
  const second = send(scheduler, ask('m:1', { tenant: 'small' }))
  await scheduler.request(ask('m:1', { tenant: 'other' }), live())
  await heard()
  assert.ok(waits(second))
  first[Symbol.dispose]()
  await heard()
  assert.equal(second.lease?.worker, 'w1')
})

test('a tenant below its limit again is served wherever a slot is free', async () => {
  const { scheduler, ask } = schedulerRig(
    [one, { name: 'w2', installed: ['n:1'], loaded: ['n:1'] }],
    { config: { tenants: [{ name: 'small', max_in_flight: 1 }] } },
  )
  const first = await scheduler.request(ask('m:1', { tenant: 'small' }), live())
  const second = send(scheduler, ask('n:1', { tenant: 'small' }))
  await heard()
  assert.ok(waits(second))
  first[Symbol.dispose]()
  await heard()
  assert.equal(second.lease?.worker, 'w2')
})

test('a model has its own slots on a worker', async () => {
  const config = { max_concurrent: 4, model_concurrency: { 'm:*': 1 } }
  const { scheduler, ask } = schedulerRig([
    { name: 'w1', config, installed: ['m:1', 'n:1'], loaded: ['m:1', 'n:1'] },
  ])
  await scheduler.request(ask('m:1'), live())
  const second = send(scheduler, ask('m:1'))
  await scheduler.request(ask('n:1'), live())
  await scheduler.request(ask('n:1'), live())
  await heard()
  assert.ok(waits(second))
  assert.equal(scheduler.inFlight('w1'), 3)
  assert.equal(scheduler.modelInFlight('w1', 'n:1'), 2)
})

// B019: a worker's own 503 busy is a sign of load and no fault.
test('a worker that said it is busy is left alone for that model until the hold ends', async () => {
  const { scheduler, ask, clock } = schedulerRig([
    { name: 'w1', installed: ['m:1', 'n:1'], loaded: ['m:1', 'n:1'] },
  ])
  const first = await scheduler.request(ask('m:1'), live())
  scheduler.hold('w1', 'm:1')
  first[Symbol.dispose]()
  const again = send(scheduler, ask('m:1'))
  await scheduler.request(ask('n:1'), live())
  await heard()
  assert.ok(waits(again))
  clock.advance(1_000)
  await heard()
  assert.equal(again.lease?.worker, 'w1')
})

const open = (until: number) => ({ phase: 'open' as const, until, pauseMs: 10_000 })

test('with only open breakers a new request fails at once, and waiters stay', async () => {
  const { scheduler, ask, fleet, clock } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  const waiting = send(scheduler, ask('m:1'))
  fleet.change('w1', (record) => (record.breaker = open(clock.mono() + 10_000)))
  first[Symbol.dispose]()
  await heard()
  assert.ok(waits(waiting))
  // Who waits is judged anew when anything else changes, such as what the worker shows of a model.
  fleet.change('w1', (record) => (record.info = new Map()))
  await heard()
  assert.ok(waits(waiting))
  const late = await refused(scheduler.request(ask('m:1'), live()))
  assert.equal(late.fault.code, 'no_worker_up')
  assert.equal(late.retryAfterS, 10)
  clock.advance(10_000)
  await heard()
  assert.equal(waiting.lease?.worker, 'w1')
})

test('while a model cools down a new request for it fails at once, and waiters stay', async () => {
  const { scheduler, ask, fleet, clock } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  const waiting = send(scheduler, ask('m:1'))
  fleet.change('w1', (record) => {
    record.loadCoolDowns = new Map([['m:1', { until: clock.mono() + 7_000, pauseMs: 7_000 }]])
  })
  first[Symbol.dispose]()
  await heard()
  assert.ok(waits(waiting))
  const late = await refused(scheduler.request(ask('m:1'), live()))
  assert.equal(late.fault.code, 'no_worker_up')
  assert.equal(late.retryAfterS, 7)
  clock.advance(7_000)
  await heard()
  assert.equal(waiting.lease?.worker, 'w1')
})

// B022: a worker that comes back must not be knocked over by the backlog.
test('a half-open breaker lets one request through, the rest follow its first byte', async () => {
  const { scheduler, ask, fleet, clock } = schedulerRig([
    { name: 'w1', installed: ['m:1'], loaded: ['m:1'] },
  ])
  const first = await Promise.all([1, 2, 3, 4].map(() => scheduler.request(ask('m:1'), live())))
  const waiting = Array.from({ length: 30 }, () => send(scheduler, ask('m:1')))
  const granted = (): number => waiting.filter(({ lease }) => lease !== undefined).length
  fleet.change('w1', (record) => (record.breaker = open(clock.mono() + 10_000)))
  for (const lease of first) lease[Symbol.dispose]()
  await heard()
  assert.equal(granted(), 0)
  clock.advance(10_000)
  await heard()
  assert.equal(granted(), 1)
  // The trial ends without a verdict: the next one tries.
  waiting.find(({ lease }) => lease !== undefined)?.lease?.[Symbol.dispose]()
  await heard()
  assert.equal(granted(), 2)
  assert.equal(scheduler.inFlight('w1'), 1)
  fleet.change('w1', (record) => (record.breaker = { phase: 'closed', faults: [] }))
  await heard()
  assert.equal(scheduler.inFlight('w1'), 4)
})

test('an operator ends the wait of a request', async () => {
  const { scheduler, ask } = schedulerRig([one])
  await scheduler.request(ask('m:1'), live())
  const waiting = send(scheduler, ask('m:1', { requestId: 'that' }))
  assert.equal(scheduler.cancel('that', 'anna'), true)
  assert.equal(scheduler.cancel('that', 'anna'), false)
  await heard()
  assert.ok(waiting.error instanceof GatewayError)
  assert.equal(waiting.error.fault.code, 'cancelled_by_operator')
  assert.equal(scheduler.waitingCount(), 0)
})

test('a gateway that stops refuses those who wait and lets the others run', async () => {
  const { scheduler, ask, clock } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  const waiting = send(scheduler, ask('m:1'))
  scheduler.close()
  await heard()
  assert.ok(waiting.error instanceof GatewayError && waiting.error.fault.code === 'shutting_down')
  assert.equal((await refused(scheduler.request(ask('m:1'), live()))).fault.code, 'shutting_down')
  first[Symbol.dispose]()
  assert.equal(scheduler.inFlight('w1'), 0)
  assert.equal(clock.pending, 0)
})

test('slots of a worker that leaves the config and returns still count', async () => {
  const { scheduler, ask, fleet } = schedulerRig([one])
  const first = await scheduler.request(ask('m:1'), live())
  const { records } = fleet
  fleet.records = []
  assert.equal((await refused(scheduler.request(ask('m:1'), live()))).fault.code, 'no_worker_up')
  fleet.records = records
  const second = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(second))
  first[Symbol.dispose]()
  await heard()
  assert.equal(second.lease?.worker, 'w1')
})

// The real fleet changes its records in place and says which one: nothing may be kept from before.
test('over the real fleet: an event that makes a worker usable wakes who waits for it', async () => {
  const { clock, config, ask } = schedulerRig([])
  const fleet = new Fleet(
    { clock, log: { event: () => {} }, settings: () => config, bytesFlowing: () => false },
    config.workers,
  )
  const effects = { unload: () => {}, event: () => {} }
  const scheduler = new Scheduler({ fleet, clock, config: () => config, effects })
  const worker = fleet.workers()[0]?.name ?? ''
  const address = fleet.workers()[0]?.addresses[0]?.url ?? ''
  const waiting = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(waiting))
  const result = { ok: true as const, ip: '127.0.0.1', version: '0.33.0' }
  fleet.apply({ type: 'probed', worker, address, result })
  fleet.apply({ type: 'round_ended', worker, answered: address, error: '', periodic: true })
  await heard()
  assert.equal(waiting.lease?.worker, worker)
  fleet.apply({ type: 'tags_read', worker, installed: new Map() })
  const late = await refused(scheduler.request(ask('m:1'), live()))
  assert.equal(late.fault.code, 'model_not_installed')
})

test('a lease that ends on a worker that left the config sends nobody there', async () => {
  const { scheduler, ask, fleet } = schedulerRig([one, { ...one, name: 'w2' }])
  const leases = [1, 2].map(() => scheduler.request(ask('m:1'), live()))
  const [first, second] = await Promise.all(leases)
  const waiting = send(scheduler, ask('m:1'))
  const gone = first?.worker ?? ''
  fleet.records = fleet.records.filter(({ name }) => name !== gone)
  first?.[Symbol.dispose]()
  await heard()
  assert.ok(waits(waiting))
  second?.[Symbol.dispose]()
  await heard()
  assert.equal(waiting.lease?.worker, second?.worker)
})

test('a trial that streams on does not stand for the next one', async () => {
  const { scheduler, ask, fleet, clock } = schedulerRig([
    { name: 'w1', installed: ['m:1'], loaded: ['m:1'] },
  ])
  fleet.change('w1', (record) => (record.breaker = open(clock.mono())))
  const first = await scheduler.request(ask('m:1'), live())
  const second = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(second), 'the first one is the trial')
  first.begun()
  fleet.change('w1', (record) => (record.breaker = { phase: 'closed', faults: [] }))
  await heard()
  assert.ok(second.lease !== undefined)
  fleet.change('w1', (record) => (record.breaker = open(clock.mono())))
  const third = await scheduler.request(ask('m:1'), live())
  second.lease?.[Symbol.dispose]()
  const fourth = send(scheduler, ask('m:1'))
  await heard()
  assert.ok(waits(fourth), 'the third one is the trial now')
  third[Symbol.dispose]()
  await heard()
  assert.ok(fourth.lease !== undefined)
})

test('a conversation returns to the worker on which it ran', async () => {
  const twin = { installed: ['m:1'], loaded: ['m:1'] }
  const { scheduler, ask } = schedulerRig([
    { name: 'w1', ...twin },
    { name: 'w2', ...twin },
  ])
  const first = await scheduler.request(ask('m:1', { affinity: 'chat' }), live())
  first[Symbol.dispose]()
  for (let turn = 0; turn < 4; turn += 1) {
    using lease = await scheduler.request(ask('m:1', { affinity: 'chat' }), live())
    assert.equal(lease.worker, first.worker)
  }
})

test('equal workers take turns', async () => {
  const twin = { installed: ['m:1'], loaded: ['m:1'] }
  const { scheduler, ask } = schedulerRig(['w1', 'w2', 'w3'].map((name) => ({ name, ...twin })))
  const took: string[] = []
  for (let turn = 0; turn < 6; turn += 1) {
    using lease = await scheduler.request(ask('m:1'), live())
    took.push(lease.worker)
  }
  assert.deepEqual(took, ['w1', 'w2', 'w3', 'w1', 'w2', 'w3'])
})

test('decisions are kept by request, and explaining leaves no trace', async () => {
  const { scheduler, ask, clock } = schedulerRig([one, { name: 'w2', installed: [] }])
  const lease = await scheduler.request(ask('m:1', { requestId: 'known' }), live())
  assert.equal(scheduler.decisionsOf('known').at(-1), lease.decision)
  assert.equal(lease.decision.at, clock.mono(), 'of the clock that ages are taken from')
  assert.equal(lease.decision.outcome, 'granted')
  assert.equal(lease.decision.judged()[1]?.stoppedBy, 'inventory')
  const loaded = lease.decision.judged()[0]?.terms.find(({ name }) => name === 'loaded')
  assert.deepEqual(loaded, { name: 'loaded', value: 1, points: 60 })
  const { decision: explained } = scheduler.explain(ask('m:1', { requestId: 'unknown' }))
  assert.equal(explained.outcome, 'queued')
  assert.equal(explained.judged()[0]?.stoppedBy, 'slots')
  assert.equal(scheduler.decisionsOf('unknown').at(-1), undefined)
  assert.equal(scheduler.inFlight('w1'), 1)
})

const pair = {
  name: 'w1',
  config: { max_concurrent: 2 },
  installed: ['a:1', 'b:1', 'c:1'],
  loaded: ['a:1'],
}

test('at most one load is pending on a worker', async () => {
  const { scheduler, ask, fleet, clock } = schedulerRig([
    { ...pair, config: { max_concurrent: 4 } },
  ])
  const running = await scheduler.request(ask('a:1'), live())
  const load = await scheduler.request(ask('b:1'), live())
  assert.equal(load.warm, false)
  const other = send(scheduler, ask('c:1'))
  await scheduler.request(ask('b:1'), live())
  await heard()
  assert.ok(waits(other), 'a second load waits here')
  assert.match(scheduler.waiting()[0]?.reasons[0]?.reason ?? '', /a load of b:1 is pending there/)
  running[Symbol.dispose]()
  clock.advance(100)
  fleet.ps('w1', ['b:1'], clock.mono())
  await heard()
  assert.equal(other.lease?.worker, 'w1', 'the load has begun: the victim is gone')
})

// On a real Ollama one request with keep_alive for the loaded model leaves a waiting load stuck
// for as long as that keep_alive, on an idle worker (transcripts/README.md).
test('while a load is pending nothing with keep_alive is sent there', async () => {
  const { scheduler, ask } = schedulerRig([{ ...pair, config: { max_concurrent: 4 } }])
  await scheduler.request(ask('a:1'), live())
  const load = await scheduler.request(ask('b:1'), live())
  const keeping = send(scheduler, ask('a:1', { keepsAlive: true }))
  const plain = await scheduler.request(ask('a:1'), live())
  assert.equal(plain.worker, 'w1', 'without keep_alive it may overtake for a while')
  await heard()
  assert.ok(waits(keeping))
  load.begun()
  await heard()
  assert.equal(keeping.lease?.worker, 'w1')
})

test('past the bound nothing for another model is sent there until the load has begun', async () => {
  const { scheduler, ask, clock } = schedulerRig([{ ...pair, config: { max_concurrent: 4 } }])
  await scheduler.request(ask('a:1'), live())
  const load = await scheduler.request(ask('b:1'), live())
  clock.advance(LOAD_PATIENCE_MS)
  const late = send(scheduler, ask('a:1'))
  await heard()
  assert.ok(waits(late))
  load.begun()
  await heard()
  assert.equal(late.lease?.worker, 'w1')
})

test('a load whose last request ends is pending no more', async () => {
  const { scheduler, ask } = schedulerRig([{ ...pair, config: { max_concurrent: 4 } }])
  await scheduler.request(ask('a:1'), live())
  const load = await scheduler.request(ask('b:1'), live())
  const other = send(scheduler, ask('c:1'))
  load[Symbol.dispose]()
  await heard()
  assert.equal(other.lease?.worker, 'w1')
})

test('a load that does not begin on an idle worker is freed by unloading the idle model', async () => {
  const { scheduler, ask, fleet, clock, unloaded, events } = schedulerRig([pair], {
    throwingEffects: false,
  })
  const running = await scheduler.request(ask('a:1'), live())
  await scheduler.request(ask('b:1'), live())
  clock.advance(60_000)
  assert.deepEqual(unloaded, [], 'something runs: the load waits its turn')
  running[Symbol.dispose]()
  clock.advance(STUCK_AFTER_MS + 5_000)
  assert.deepEqual(unloaded, [], '/api/ps has not been read since: nothing is proved')
  fleet.ps('w1', ['a:1'], clock.mono())
  clock.advance(1_000)
  assert.deepEqual(unloaded, ['w1 a:1'])
  assert.deepEqual(events, [{ name: 'load.stuck', worker: 'w1', model: 'b:1', unloaded: 'a:1' }])
  fleet.ps('w1', [], clock.mono())
  clock.advance(60_000)
  assert.deepEqual(unloaded, ['w1 a:1'], 'it has begun')
})

test('a load that has begun in time is never helped', async () => {
  const { scheduler, ask, fleet, clock, unloaded } = schedulerRig([pair])
  const running = await scheduler.request(ask('a:1'), live())
  await scheduler.request(ask('b:1'), live())
  running[Symbol.dispose]()
  clock.advance(300)
  fleet.ps('w1', ['b:1'], clock.mono())
  clock.advance(60_000)
  fleet.ps('w1', ['b:1'], clock.mono())
  clock.advance(60_000)
  assert.deepEqual(unloaded, [])
  assert.equal(clock.pending, 0)
})

/** Twenty waiters for the loaded model and one for another, each served for so long: who went when. */
async function orderBesideLoad(serviceMs: number): Promise<string> {
  const { scheduler, ask, fleet, clock } = schedulerRig([
    { ...pair, config: { max_concurrent: 1 } },
  ])
  const first = await scheduler.request(ask('a:1'), live())
  const evicting = send(scheduler, ask('b:1', { actor: 'e' }))
  const loaded = Array.from({ length: 20 }, () => send(scheduler, ask('a:1', { actor: 'l' })))
  const order: string[] = []
  const note = new Set<Watched>()
  first[Symbol.dispose]()
  for (let step = 0; step < 21; step += 1) {
    await heard()
    const next = [evicting, ...loaded].find((one) => one.lease !== undefined && !note.has(one))
    if (next === undefined) break
    note.add(next)
    order.push(next === evicting ? 'b' : 'a')
    clock.advance(serviceMs)
    next.lease?.begun()
    fleet.ps('w1', [next === evicting ? 'b:1' : 'a:1'], clock.mono())
    next.lease?.[Symbol.dispose]()
  }
  assert.equal(order.length, 21)
  return order.join('')
}

test('waiters for the loaded model go before one that would evict it, within a bound', async () => {
  const order = await orderBesideLoad(10)
  const place = order.indexOf('b')
  assert.ok(place >= 4 && place <= 9, order)
})

test('a load is not passed over for longer than the bound, however few pass it', async () => {
  const order = await orderBesideLoad(6_000)
  const place = order.indexOf('b')
  assert.ok(place >= 1 && place <= 3, order)
})

// B036: a waiter must not sleep for ever because a slot came free at the wrong moment, nor because
// a log threw.
test('nobody waits while a slot is free, whatever the sinks throw', async () => {
  const { scheduler, ask, clock } = schedulerRig([one], { throwingEffects: true })
  let done = 0
  const run = async (delay: number): Promise<void> => {
    for (let i = 0; i < delay; i += 1) await Promise.resolve()
    using lease = await scheduler.request(ask('m:1'), live())
    for (let i = 0; i < delay % 3; i += 1) await Promise.resolve()
    lease.begun()
    done += 1
  }
  await Promise.all(Array.from({ length: 250 }, (_, i) => run(i % 11)))
  assert.equal(done, 250)
  assert.equal(scheduler.inFlight('w1'), 0)
  assert.equal(clock.pending, 0)
})

// Every operation in any order: never more leases than slots, never a free slot beside a waiter
// who could have it, and nothing left at the end.
test('20,000 random operations keep every limit', async () => {
  let seed = 42
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  const names = ['w1', 'w2', 'w3']
  const { scheduler, ask, fleet, clock } = schedulerRig(
    names.map((name, i) => ({
      name,
      config: { max_concurrent: i + 1, model_concurrency: { 'a:1': 1 } },
      installed: ['a:1', 'b:1'],
      loaded: ['a:1', 'b:1'],
    })),
    {
      config: {
        admission: { max_queue: 40 },
        tenants: [
          { name: 't1', max_in_flight: 3 },
          { name: 't0', weight: 3 },
        ],
      },
    },
  )
  const leases = new Set<Lease & { tenant?: string }>()
  const tenants = new Map<Lease, string>()
  const clients = new Set<AbortController>()

  const start = (): void => {
    const client = new AbortController()
    const tenant = `t${random(3)}`
    clients.add(client)
    const wanted = ask(random(2) === 0 ? 'a:1' : 'b:1', {
      tenant,
      actor: `u${random(4)}`,
      priority: random(4) === 0 ? 'background' : 'interactive',
      keepsAlive: random(5) === 0,
      cost: 1 + random(500),
      waitUntil: clock.mono() + random(3_000),
    })
    scheduler.request(wanted, client.signal).then(
      (lease) => {
        clients.delete(client)
        // The abort may have raced the grant: the caller gives the slot back, as `using` does.
        if (client.signal.aborted) return lease[Symbol.dispose]()
        tenants.set(lease, tenant)
        leases.add(lease)
      },
      () => clients.delete(client),
    )
  }
  const pick = <T>(from: Set<T>): T | undefined => [...from][random(from.size)]
  const end = (): void => {
    const lease = pick(leases)
    if (lease === undefined) return
    leases.delete(lease)
    if (random(2) === 0) lease.begun()
    lease[Symbol.dispose]()
    if (random(10) === 0) lease[Symbol.dispose]()
  }
  const flip = (): void => {
    const name = names[random(3)] ?? 'w1'
    if (random(2) === 0) fleet.down(name, clock.mono())
    else fleet.change(name, (record) => (record.health = { state: 'up', sinceMono: 0 }))
  }
  const operations = [
    start,
    start,
    start,
    end,
    end,
    end,
    () => pick(clients)?.abort(),
    () => clock.advance(random(200)),
  ]

  for (let step = 0; step < 20_000; step += 1) {
    const rare = random(200)
    if (rare === 0) flip()
    else if (rare === 1) scheduler.hold(names[random(3)] ?? 'w1', 'a:1')
    else operations[random(operations.length)]?.()
    if (random(3) === 0) await Promise.resolve()
    for (const [i, name] of names.entries()) {
      assert.ok(scheduler.inFlight(name) <= i + 1, `${name} at step ${step}`)
      assert.ok(scheduler.modelInFlight(name, 'a:1') <= 1, `a:1 on ${name} at step ${step}`)
    }
    assert.ok(scheduler.waitingCount() <= 40)
  }
  await heard()
  const small = [...leases].filter((lease) => tenants.get(lease) === 't1')
  assert.ok(small.length <= 3)
  for (const name of names)
    fleet.change(name, (record) => (record.health = { state: 'up', sinceMono: 0 }))
  clock.advance(2_000)
  while (leases.size > 0) {
    end()
    await heard()
  }
  assert.equal(scheduler.waitingCount(), 0, 'nobody is forgotten')
  assert.deepEqual(
    names.map((name) => scheduler.inFlight(name)),
    [0, 0, 0],
  )
  assert.equal(clock.pending, 0, 'no timer is left')
})

/** Sends many, lets one after the other run, and tells in which order they were granted. */
async function orderOf(rig: ReturnType<typeof schedulerRig>, asks: readonly Ask[]): Promise<Ask[]> {
  const { scheduler, clock, ask } = rig
  const first = await scheduler.request(ask('m:1', { tenant: 'holder' }), live())
  const order: Ask[] = []
  const done = asks.map(async (one) => {
    using lease = await scheduler.request(one, live())
    order.push(one)
    clock.advance(10)
    assert.equal(scheduler.inFlight(lease.worker), 1)
    lease.used(one.cost)
  })
  first[Symbol.dispose]()
  await Promise.all(done)
  return order
}

test('tenants share a worker 3 to 1 by tokens, within 5 percent', async () => {
  const config = {
    admission: { max_queue: 2_000 },
    tenants: [{ name: 'three', weight: 3 }, { name: 'one' }],
  }
  const rig = schedulerRig([one], { config })
  const asks = Array.from({ length: 800 }, (_, i) =>
    rig.ask('m:1', { tenant: i % 2 === 0 ? 'one' : 'three', cost: 100 + ((i * 17) % 60) }),
  )
  const order = (await orderOf(rig, asks)).slice(0, 500)
  const tokens = (tenant: string): number =>
    order.filter((ask) => ask.tenant === tenant).reduce((sum, { cost }) => sum + cost, 0)
  const ratio = tokens('three') / tokens('one')
  assert.ok(Math.abs(ratio - 3) < 0.15, String(ratio))
})

// A slot that was free at once is a part of its tenant's share all the same.
test('what never had to wait is charged like the rest', async () => {
  const { scheduler, ask } = schedulerRig([
    one,
    { name: 'w2', installed: ['n:1'], loaded: ['n:1'] },
  ])
  let busy = await scheduler.request(ask('m:1'), live())
  const patient = [1, 2].map(() => send(scheduler, ask('m:1', { tenant: 'patient' })))
  const lucky = { tenant: 'lucky' }
  await Promise.all([1, 2, 3].map(() => scheduler.request(ask('n:1', lucky), live())))
  const late = [1, 2].map(() => send(scheduler, ask('m:1', lucky)))
  const order: string[] = []
  const left = new Set([...patient, ...late])
  while (left.size > 0) {
    busy[Symbol.dispose]()
    await heard()
    const next = [...left].find(({ lease }) => lease !== undefined)
    if (next?.lease === undefined) break
    left.delete(next)
    busy = next.lease
    order.push(busy.decision.worker === 'w1' ? (patient.includes(next) ? 'patient' : 'lucky') : '')
  }
  assert.deepEqual(order, ['patient', 'patient', 'lucky', 'lucky'])
})

test('a tenant of the class background waits behind interactive ones', async () => {
  const rig = schedulerRig([one], {
    config: { tenants: [{ name: 'batch', priority: 'background' }] },
  })
  const asks = [rig.ask('m:1', { tenant: 'batch' }), rig.ask('m:1', { tenant: 'people' })]
  const order = await orderOf(rig, asks)
  assert.deepEqual(
    order.map(({ tenant }) => tenant),
    ['people', 'batch'],
  )
})
