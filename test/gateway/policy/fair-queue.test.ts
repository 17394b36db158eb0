import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGED_AFTER_MS, FairQueue, MAX_OVERTAKES } from '../../../src/gateway/policy/fair-queue.ts'
import type { Place } from '../../../src/gateway/policy/fair-queue.ts'

const place = (changes: Partial<Place> = {}): Place => ({
  tenant: 't',
  weight: 1,
  actor: 'a',
  cost: 100,
  priority: 'interactive',
  enteredAt: 0,
  ...changes,
})

interface Job {
  place: Place
}

function queueOf(places: readonly Place[]): FairQueue<Job> {
  const queue = new FairQueue<Job>()
  for (const one of places) queue.add({ place: one }, one)
  return queue
}

function serve(queue: FairQueue<Job>, now = 0): Job | undefined {
  const next = queue.inOrder(now).next()
  if (next.done === true) return undefined
  queue.serve(next.value)
  return next.value
}

/** Serves so many and counts by what `of` says. */
function count(queue: FairQueue<Job>, served: number, of: (job: Job) => string) {
  const counts: Record<string, number> = {}
  for (let i = 0; i < served; i += 1) {
    const job = serve(queue)
    if (job !== undefined) counts[of(job)] = (counts[of(job)] ?? 0) + job.place.cost
  }
  return counts
}

test('tenants are served by weight: 3 to 1, within 5 percent', () => {
  const places = Array.from({ length: 1000 }, (_, i) => [
    place({ tenant: 'three', weight: 3, cost: 50 + ((i * 37) % 100) }),
    place({ tenant: 'one', weight: 1, cost: 50 + ((i * 53) % 100) }),
  ]).flat()
  const { three = 0, one = 1 } = count(queueOf(places), 1000, (job) => job.place.tenant)
  assert.ok(Math.abs(three / one - 3) < 0.15, `${three} to ${one}`)
})

test('actors of one tenant are served evenly, however many each has sent', () => {
  const flood = Array.from({ length: 500 }, () => place({ actor: 'flood' }))
  const few = Array.from({ length: 100 }, () => place({ actor: 'few' }))
  const counts = count(queueOf([...flood, ...few]), 200, (job) => job.place.actor)
  assert.deepEqual(counts, { flood: 10_000, few: 10_000 })
})

test('actors of one tenant are served evenly by tokens, not by requests', () => {
  const places = Array.from({ length: 50 }, () => [
    place({ actor: 'dear', cost: 300 }),
    place({ actor: 'cheap', cost: 100 }),
  ]).flat()
  const counts = count(queueOf(places), 40, (job) => job.place.actor)
  assert.deepEqual(counts, { dear: 3_000, cheap: 3_000 })
})

test('an actor that comes back gets no credit for the time it was away', () => {
  const queue = queueOf([place({ actor: 'back' }), place({ actor: 'busy' })])
  count(queue, 2, () => '')
  for (let i = 0; i < 100; i += 1) queue.charge(place({ actor: 'busy' }))
  for (let i = 0; i < 50; i += 1) {
    queue.add({ place: place({ actor: 'busy' }) }, place({ actor: 'busy' }))
    queue.add({ place: place({ actor: 'back' }) }, place({ actor: 'back' }))
  }
  assert.deepEqual(
    count(queue, 40, (job) => job.place.actor),
    { busy: 2_000, back: 2_000 },
  )
})

test('a flood of actors does not give a tenant more than its share', () => {
  const many = Array.from({ length: 300 }, (_, i) => place({ tenant: 'many', actor: `a${i}` }))
  const one = Array.from({ length: 300 }, () => place({ tenant: 'one' }))
  const counts = count(queueOf([...many, ...one]), 200, (job) => job.place.tenant)
  assert.deepEqual(counts, { many: 10_000, one: 10_000 })
})

// Whoever names a new actor with each request must not starve the one who does not.
test('newcomers with ever new names do not starve a waiting actor', () => {
  const queue = new FairQueue<Job>()
  const heavy = place({ actor: 'honest', cost: 5_000 })
  queue.add({ place: heavy }, heavy)
  serve(queue)
  queue.add({ place: heavy }, heavy)
  for (let i = 0; i < 300; i += 1) {
    const fresh = place({ actor: `new${i}` })
    const other = place({ actor: `newer${i}` })
    queue.add({ place: fresh }, fresh)
    queue.add({ place: other }, other)
    if (serve(queue)?.place.actor === 'honest') return
  }
  assert.fail('the waiting actor was never served')
})

test('shares are of what was used, however wrong the estimates are', () => {
  const dear = Array.from({ length: 4000 }, () => place({ tenant: 'a', weight: 3, cost: 900 }))
  const cheap = Array.from({ length: 4000 }, () => place({ tenant: 'b', cost: 10 }))
  const queue = queueOf([...dear, ...cheap])
  const used: Record<string, number> = { a: 0, b: 0 }
  const running: (() => void)[] = []
  for (let i = 0; i < 4000; i += 1) {
    const next = queue.inOrder(0).next()
    if (next.done === true) break
    const { tenant } = next.value.place
    const correct = queue.serve(next.value)
    const cost = 40 + ((i * 37) % 30)
    running.push(() => {
      correct?.(cost)
      used[tenant] = (used[tenant] ?? 0) + cost
    })
    // Four run at once: it is known later what the first of them used.
    if (running.length === 4) running.shift()?.()
  }
  const ratio = (used['a'] ?? 0) / (used['b'] ?? 1)
  assert.ok(Math.abs(ratio - 3) < 0.15, `${ratio} to 1`)
})

test('a tenant that comes while another is charged too much is not behind for it', () => {
  const queue = new FairQueue<Job>()
  for (let i = 0; i < 1000; i += 1) queue.charge(place({ tenant: 'old', cost: 300 }))(20)
  const running = queue.charge(place({ tenant: 'old', cost: 300 }))
  for (let i = 0; i < 100; i += 1) {
    queue.add({ place: place({ tenant: 'old' }) }, place({ tenant: 'old' }))
    queue.add({ place: place({ tenant: 'new' }) }, place({ tenant: 'new' }))
  }
  running(20)
  const { old = 0, new: fresh = 0 } = count(queue, 60, (job) => job.place.tenant)
  assert.ok(Math.abs(old - fresh) <= 300, `${old} and ${fresh}`)
})

// The old one waits all the time, so that nothing but its own charges moves it.
for (const level of ['tenant', 'actor'] as const) {
  test(`a newcomer is not behind what a busy ${level} was charged too much`, () => {
    const queue = new FairQueue<Job>()
    const add = (name: string): void => {
      const job = { place: place({ [level]: name }) }
      queue.add(job, job.place)
    }
    for (let i = 0; i < 200; i += 1) add('old')
    for (let i = 0; i < 500; i += 1) queue.charge(place({ [level]: 'old', cost: 300 }))(20)
    for (let i = 0; i < 100; i += 1) add('new')
    const { old = 0, new: fresh = 0 } = count(queue, 60, (job) => job.place[level])
    assert.ok(Math.abs(old - fresh) <= 300, `${old} and ${fresh}`)
  })
}

test('a tenant that was idle gets no credit for it', () => {
  const queue = queueOf(Array.from({ length: 100 }, () => place({ tenant: 'busy' })))
  count(queue, 50, () => '')
  for (let i = 0; i < 50; i += 1)
    queue.add({ place: place({ tenant: 'back' }) }, place({ tenant: 'back' }))
  const counts = count(queue, 40, (job) => job.place.tenant)
  assert.deepEqual(counts, { busy: 2_000, back: 2_000 })
})

test('a tenant that comes back gets no credit for the time it was away', () => {
  const queue = queueOf([place({ tenant: 'back' }), place({ tenant: 'busy' })])
  count(queue, 2, () => '')
  for (let i = 0; i < 100; i += 1) queue.charge(place({ tenant: 'busy' }))
  for (let i = 0; i < 50; i += 1) {
    queue.add({ place: place({ tenant: 'busy' }) }, place({ tenant: 'busy' }))
    queue.add({ place: place({ tenant: 'back' }) }, place({ tenant: 'back' }))
  }
  assert.deepEqual(
    count(queue, 40, (job) => job.place.tenant),
    { busy: 2_000, back: 2_000 },
  )
})

test('a tenant that was alone owes nothing for it', () => {
  const queue = new FairQueue<Job>()
  for (let i = 0; i < 1000; i += 1) queue.charge(place({ tenant: 'alone' }))
  for (let i = 0; i < 50; i += 1) {
    queue.add({ place: place({ tenant: 'alone' }) }, place({ tenant: 'alone' }))
    queue.add({ place: place({ tenant: 'new' }) }, place({ tenant: 'new' }))
  }
  assert.deepEqual(
    count(queue, 40, (job) => job.place.tenant),
    { alone: 2_000, new: 2_000 },
  )
})

test('within an actor the oldest goes first, and a retried one keeps its place', () => {
  const queue = queueOf([place({ enteredAt: 5 }), place({ enteredAt: 7 })])
  const retried = place({ enteredAt: 3 })
  queue.add({ place: retried }, retried)
  const order = [serve(queue), serve(queue), serve(queue)].map((job) => job?.place.enteredAt)
  assert.deepEqual(order, [3, 5, 7])
})

test('interactive goes before background, whoever has served less', () => {
  const queue = queueOf([
    place({ tenant: 'b', priority: 'background' }),
    place({ tenant: 'a', cost: 9_999 }),
    place({ tenant: 'a', cost: 9_999 }),
  ])
  const order = [serve(queue), serve(queue), serve(queue)].map((job) => job?.place.priority)
  assert.deepEqual(order, ['interactive', 'interactive', 'background'])
})

// B040: a steady interactive trickle must not defer batch work for ever.
test('background work starts within a bounded number of overtakes', () => {
  const queue = queueOf(
    Array.from({ length: 10 }, () => place({ actor: 'batch', priority: 'background' })),
  )
  const overtakes: number[] = []
  let since = 0
  for (let round = 0; round < 500 && overtakes.length < 10; round += 1) {
    const trickle = place({ actor: 'trickle', enteredAt: round })
    queue.add({ place: trickle }, trickle)
    if (serve(queue)?.place.priority === 'interactive') since += 1
    else overtakes.push(since)
  }
  assert.equal(overtakes.length, 10)
  assert.ok((overtakes[0] ?? 0) <= MAX_OVERTAKES + 1, String(overtakes))
  assert.ok((overtakes[9] ?? 0) <= 2 * MAX_OVERTAKES, String(overtakes))
})

test('background work ages by time as well', () => {
  const queue = queueOf([
    place({ actor: 'batch', priority: 'background', enteredAt: 0 }),
    place({ actor: 'batch', enteredAt: 1 }),
  ])
  assert.equal(serve(queue, AGED_AFTER_MS)?.place.priority, 'background')
})

test('cancelling an aged waiter does not age the one behind it', () => {
  const queue = new FairQueue<Job>()
  const first = { place: place({ actor: 'batch', priority: 'background', enteredAt: 0 }) }
  const second = {
    place: place({ actor: 'batch', priority: 'background', enteredAt: AGED_AFTER_MS }),
  }
  queue.add(first, first.place)
  queue.add(second, second.place)
  const now = place({ actor: 'now', enteredAt: AGED_AFTER_MS })
  queue.add({ place: now }, now)
  assert.ok(queue.remove(first))
  assert.equal(serve(queue, AGED_AFTER_MS)?.place.actor, 'now')
})

test('the tenant most over its share is named with its newest waiter', () => {
  const queue = queueOf([
    place({ tenant: 'small', enteredAt: 1 }),
    place({ tenant: 'big', weight: 4, enteredAt: 2 }),
    place({ tenant: 'big', weight: 4, enteredAt: 3 }),
    place({ tenant: 'over', enteredAt: 4 }),
    place({ tenant: 'over', enteredAt: 6, actor: 'y' }),
    place({ tenant: 'over', enteredAt: 5, priority: 'background' }),
  ])
  const { tenant, newest } = queue.mostOverShare(place({ tenant: 'small' }))
  assert.deepEqual([tenant, newest?.place.enteredAt], ['over', 6])
})

test('ten thousand waiters of as many actors are served in moments', () => {
  const queue = queueOf(
    Array.from({ length: 10_000 }, (_, i) => place({ actor: `a${i}`, tenant: `t${i % 7}` })),
  )
  const begun = performance.now()
  let served = 0
  while (serve(queue) !== undefined) served += 1
  assert.equal(served, 10_000)
  assert.equal(queue.size, 0)
  assert.ok(performance.now() - begun < 5_000)
})

/** As many names as are told apart, with one waiter each. */
function crowd(): FairQueue<Job> {
  return queueOf(Array.from({ length: 10_000 }, (_, i) => place({ actor: `a${i}` })))
}

// Names come from clients: whoever makes up new ones must not fill the memory, nor go before others.
test('actors beyond ten thousand share one place', () => {
  const queue = crowd()
  for (const actor of ['a0', 'late-1', 'late-2']) {
    const one = place({ actor })
    queue.add({ place: one }, one)
  }
  const order: string[] = []
  for (let job = serve(queue); job !== undefined; job = serve(queue)) order.push(job.place.actor)
  assert.equal(order.length, 10_003)
  assert.deepEqual(order.slice(-3), ['late-1', 'a0', 'late-2'])
})

test('actors who have gone make room for new names', () => {
  const queue = crowd()
  while (serve(queue) !== undefined);
  const flood = Array.from({ length: 100 }, () => place({ actor: 'flood' }))
  const few = Array.from({ length: 100 }, () => place({ actor: 'few' }))
  for (const one of [...flood, ...few]) queue.add({ place: one }, one)
  const counts = count(queue, 100, (job) => job.place.actor)
  assert.deepEqual(counts, { flood: 5_000, few: 5_000 })
})
