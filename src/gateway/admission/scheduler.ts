// Who goes and who waits: the one owner of slots and queue.
//
// One synchronous state machine: between a check and the change that it allows there is no await.
// What holds between two steps: no waiter could be granted on any worker. So a newcomer that finds
// a free slot overtakes nobody, and after a step only the workers that it touched are looked at.

import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { WorkerReason } from '../errors.ts'
import type { Worker } from '../fleet/worker.ts'
import { breakerGate } from '../policy/breaker.ts'
import { isResident, needsLoadFirst, sentNumCtx } from '../policy/eligibility.ts'
import type { Correction } from '../policy/fair-queue.ts'
import { modelFactsOf } from '../policy/model-facts.ts'
import type { Choice, Judgement } from '../policy/selection.ts'
import type { Admission, Ask, Decision, Lease, Waiting } from './ask.ts'
import { Decider, isWorthStaying, isWorthWaiting } from './decider.ts'
import type { AdmissionSettings } from './decider.ts'
import type { SchedulerEffects } from './effects.ts'
import { FleetRows } from './fleet-rows.ts'
import type { FleetView, Row } from './fleet-rows.ts'
import { leaseOf } from './lease.ts'
import { AdmissionMemory } from './memory.ts'
import { nextGrant } from './next-grant.ts'
import { WaitQueue } from './queue.ts'
import type { Waiter } from './queue.ts'
import { reasonsOf, refusalOf } from './refusal.ts'
import { Wakeups } from './wakeups.ts'
import { HOLD_MS } from './worker-slots.ts'

export interface SchedulerDeps {
  fleet: FleetView
  clock: Clock
  config(): AdmissionSettings
  effects: SchedulerEffects
}

/** `waiting` names so many workers for each waiter. */
const MAX_WAITING_REASONS = 8

export class Scheduler implements Admission {
  readonly #deps: SchedulerDeps
  readonly #memory = new AdmissionMemory()
  readonly #rows: FleetRows
  readonly #decider: Decider
  readonly #queue: WaitQueue
  readonly #wakeups: Wakeups
  readonly #inFlightOf = new Map<string, number>()
  /** Workers that changed since the last drain. */
  readonly #dirty = new Set<Row>()
  readonly #unsubscribe: () => void
  #grants = 0
  #closed = false

  constructor(deps: SchedulerDeps) {
    this.#deps = deps
    const { clock, config, fleet, effects } = deps
    this.#rows = new FleetRows(fleet)
    this.#decider = new Decider({ clock, config, rows: this.#rows, memory: this.#memory })
    this.#queue = new WaitQueue(clock)
    this.#wakeups = new Wakeups({ clock, effects, onDue: () => this.#settle(this.#rows.all()) })
    for (const row of this.#rows.all()) this.#rows.look(row)
    this.#unsubscribe = fleet.onChange((_, worker) => this.#fleetChanged(worker))
  }

  request(ask: Ask, signal: AbortSignal): Promise<Lease> {
    try {
      signal.throwIfAborted()
      if (this.#closed) throw new GatewayError({ code: 'shutting_down' })
      const judgement = this.#decider.judgement(ask)
      const row = judgement.candidates[judgement.choice.index]
      if (row !== undefined && this.#hasRoom(ask)) {
        const correct = this.#queue.charge(this.#decider.placeOf(ask))
        return Promise.resolve(this.#grant(row, judgement, judgement.rules.now, correct))
      }
      return this.#wait(judgement, signal)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  hold(worker: string, modelKey: string): void {
    this.#rows.slotsOf(worker)?.holds.set(modelKey, this.#deps.clock.mono() + HOLD_MS)
    this.#settle([])
  }

  /** Tenants have other limits: waiters of one that may have more in flight go now. */
  limitsChanged = (): void => this.#settle(this.#rows.all())

  isWaitedFor(modelKey: string): boolean {
    return this.#queue.waitingFor(modelKey) > 0
  }

  inFlight(worker: string): number {
    return this.#rows.slotsOf(worker)?.inFlight ?? 0
  }

  modelInFlight(worker: string, modelKey: string): number {
    return this.#rows.slotsOf(worker)?.models.get(modelKey) ?? 0
  }

  waiting(): readonly Waiting[] {
    const now = this.#deps.clock.mono()
    const judgementOf = this.#decider.judgements()
    const reasonsFor = (ask: Ask): WorkerReason[] => {
      const reasons = reasonsOf(judgementOf(ask), MAX_WAITING_REASONS)
      if (this.#hasRoom(ask)) return reasons
      const reason = `tenant "${ask.tenant}" has as many requests in flight as it may (max_in_flight)`
      return reasons.map(({ worker }) => ({ worker, reason }))
    }
    return this.#queue.all().map(({ ask, place }) => ({
      requestId: ask.requestId,
      model: ask.model.display,
      tenant: ask.tenant,
      actor: ask.actor,
      priority: place.priority,
      waitedMs: now - ask.enteredAt,
      reasons: reasonsFor(ask),
    }))
  }

  waitingByModel = (): ReadonlyMap<string, number> => this.#queue.byModel()

  waitingCount = (): number => this.#queue.size

  /** Ends the wait of a request. False if it does not wait. */
  cancel(requestId: string, operator: string): boolean {
    const waiter = this.#queue.all().find(({ ask }) => ask.requestId === requestId)
    if (waiter === undefined) return false
    return this.#queue.reject(waiter, new GatewayError({ code: 'cancelled_by_operator', operator }))
  }

  /** What would be decided now, every worker judged. Takes no slot and leaves no trace. */
  explain(ask: Ask): { decision: Decision; refusal: GatewayError | undefined } {
    const judgement = this.#decider.judgement(ask)
    const outcome = outcomeOf(judgement.choice, this.#hasRoom(ask))
    const decision = this.#decider.decision(judgement, outcome, Infinity)
    return { decision, refusal: outcome === 'refused' ? refusalOf(judgement) : undefined }
  }

  /** What preflight says of a request on the worker that it got. */
  get preflight(): Pick<Decider, 'warnings' | 'numCtxFor' | 'contextOn'> {
    return this.#decider
  }

  /** The decisions made for a request while they are kept, the newest last. */
  decisionsOf(requestId: string): readonly Decision[] {
    return this.#memory.decisionsOf(requestId)
  }

  /** Takes no new requests and refuses those that wait; leases run on. */
  close(): void {
    this.#closed = true
    this.#unsubscribe()
    this.#wakeups.stop()
    for (const waiter of this.#queue.all()) {
      this.#queue.reject(waiter, new GatewayError({ code: 'shutting_down' }))
    }
  }

  #hasRoom(ask: Ask): boolean {
    const most = this.#decider.tenant(ask.tenant)?.max_in_flight ?? 0
    return most === 0 || (this.#inFlightOf.get(ask.tenant) ?? 0) < most
  }

  #wait(judgement: Judgement, signal: AbortSignal): Promise<Lease> {
    const { ask, choice } = judgement
    if (!isWorthWaiting(choice)) {
      this.#memory.noteDecision(ask.requestId, this.#decider.decision(judgement, 'refused'))
      throw refusalOf(judgement)
    }
    const since = this.#deps.clock.mono()
    if (ask.waitUntil <= since) throw this.#timedOut(ask)
    const place = this.#decider.placeOf(ask)
    this.#makeRoom(judgement)
    const { knownOnly } = choice
    const pass = { overtaken: 0, overtakenSince: undefined }
    const waiter: Waiter = { ask, place, since, signal, knownOnly, ...pass }
    this.#memory.noteDecision(ask.requestId, this.#decider.decision(judgement, 'queued'))
    const lease = this.#queue.add(waiter, () => this.#timedOut(ask))
    this.#plan()
    return lease
  }

  /** A full queue refuses the newest waiter of the tenant that is most over its share. */
  #makeRoom(judgement: Judgement): void {
    const { max_queue: most } = this.#deps.config().admission
    if (this.#queue.size < most) return
    const { ask } = judgement
    const place = this.#decider.placeOf(ask)
    const { tenant, newest } = this.#queue.mostOverShare(place)
    const isNewcomer = tenant === ask.tenant || newest === undefined || most === 0
    const judged = isNewcomer ? judgement : this.#decider.judgement(newest.ask)
    const waiting = this.#queue.size
    const full = new GatewayError({
      code: 'queue_full',
      model: judged.ask.model.display,
      waiting,
      retryAfterS: this.#decider.retryAfterS(judged, waiting),
    })
    if (isNewcomer) {
      this.#memory.noteDecision(ask.requestId, this.#decider.decision(judgement, 'refused'))
      throw full
    }
    this.#queue.reject(newest, full)
  }

  #timedOut(ask: Ask): GatewayError {
    const { key, display } = ask.model
    return new GatewayError({
      code: 'queue_timeout',
      model: display,
      waitedMs: this.#deps.clock.mono() - ask.enteredAt,
      retryAfterS: this.#decider.retryAfterS(
        this.#decider.judgement(ask),
        this.#queue.waitingFor(key),
      ),
    })
  }

  /** Takes the slot. The caller has just found it free. */
  #grant(row: Row, judgement: Judgement, since: number, correct?: Correction): Lease {
    const { ask, rules } = judgement
    const { worker, slots } = row
    const { key } = ask.model
    const now = rules.now
    const facts = modelFactsOf(worker, ask.model)
    const warm = isResident(row, facts, ask, rules)
    const loadFirst = needsLoadFirst(row, facts, ask, rules)
    const decision = this.#decider.decision(judgement, 'granted')
    const trial = breakerGate(worker.breaker, now) === 'half_open' ? Symbol('trial') : undefined
    slots.take(key, now)
    if (trial !== undefined) slots.trial = trial
    const wish = { key, numCtx: sentNumCtx(row, facts, ask, rules) }
    if (!warm && !ask.model.cloud) slots.expectLoad(worker, wish, now)
    this.#grants += 1
    slots.lastGrant = this.#grants
    this.#inFlightOf.set(ask.tenant, (this.#inFlightOf.get(ask.tenant) ?? 0) + 1)
    this.#memory.noteWorker(key, ask.affinity, worker.name)
    this.#memory.noteDecision(ask.requestId, decision)
    this.#plan()
    return leaseOf({
      ask,
      worker: worker.name,
      queueMs: now - since,
      warm,
      reloads: !warm && facts.loaded !== undefined,
      loadFirst,
      decision,
      onBegun: () => {
        slots.begun(key, this.#deps.clock.mono())
        if (slots.trial === trial) slots.trial = undefined
        this.#settle(this.#current(row))
      },
      onUsed: (tokens) => correct?.(tokens),
      onEnd: () => {
        if (slots.trial === trial) slots.trial = undefined
        this.#end(row, ask, now)
      },
    })
  }

  #end(row: Row, ask: Ask, grantedAt: number): void {
    const { slots } = row
    const { key } = ask.model
    const now = this.#deps.clock.mono()
    slots.giveBack(key, now)
    const left = (this.#inFlightOf.get(ask.tenant) ?? 0) - 1
    if (left > 0) this.#inFlightOf.set(ask.tenant, left)
    else this.#inFlightOf.delete(ask.tenant)
    this.#memory.noteService(key, now - grantedAt)
    // A tenant at its own limit has waiters whom any worker may take now.
    const limited = (this.#decider.tenant(ask.tenant)?.max_in_flight ?? 0) > 0
    this.#settle(limited ? this.#rows.all() : this.#current(row))
  }

  /** A lease may outlive its worker's place in the config: nobody is sent there then. */
  #current({ worker }: Row): Row[] {
    const row = this.#rows.byName(worker.name)
    return row === undefined ? [] : [row]
  }

  #fleetChanged(worker: Worker | undefined): void {
    const now = this.#deps.clock.mono()
    const changed = worker === undefined ? undefined : this.#rows.byName(worker.name)
    const rows = changed === undefined ? this.#rows.all() : [changed]
    let gates = worker === undefined
    const touched: Row[] = []
    for (const row of rows) {
      const change = this.#rows.look(row)
      if (change === 'none') continue
      row.slots.observe(row.worker, now)
      if (change !== 'score') touched.push(row)
      if (change === 'gates') gates = true
    }
    if (gates && this.#queue.size > 0) this.#review()
    this.#settle(gates ? this.#rows.all() : touched)
  }

  /** Facts have changed that gates depend on: who has no worker left fails now, with reasons. */
  #review(): void {
    const judgementOf = this.#decider.judgements()
    for (const waiter of this.#queue.all()) {
      const { ask } = waiter
      const judgement = judgementOf(ask)
      waiter.knownOnly = judgement.choice.knownOnly
      if (isWorthStaying(judgement.choice)) continue
      this.#memory.noteDecision(ask.requestId, this.#decider.decision(judgement, 'refused'))
      this.#queue.reject(waiter, refusalOf({ ...judgement, ask }))
    }
  }

  /** Grants what the touched workers can take now, and sees to the next time that matters. */
  #settle(touched: readonly Row[]): void {
    if (this.#closed) return
    for (const row of touched) this.#dirty.add(row)
    while (this.#queue.size > 0 && this.#dirty.size > 0) {
      const granted = this.#grantNext()
      if (!granted) break
    }
    this.#dirty.clear()
    this.#plan()
  }

  #grantNext(): boolean {
    const free = [...this.#dirty].filter(({ worker, slots }) => {
      return worker.health.state === 'up' && slots.inFlight < worker.config.max_concurrent
    })
    if (free.length === 0) return false
    const next = nextGrant(free, this.#queue, {
      now: this.#deps.clock.mono(),
      mayGo: ({ ask, signal }) => !signal.aborted && this.#hasRoom(ask),
      mayHost: (row, model) => this.#decider.mayHost(row, model),
      judge: ({ ask, knownOnly }, rows) => this.#decider.judgementOver(rows, ask, knownOnly),
    })
    if (next === undefined) return false
    const { waiter, row, judgement } = next
    const correct = this.#queue.serve(waiter)
    this.#queue.grant(waiter, this.#grant(row, judgement, waiter.since, correct))
    return true
  }

  #plan(): void {
    this.#wakeups.plan(this.#rows.all(), this.#queue.size > 0)
  }
}

function outcomeOf(choice: Choice, hasRoom: boolean): Decision['outcome'] {
  if (choice.index >= 0) return hasRoom ? 'granted' : 'queued'
  return isWorthWaiting(choice) ? 'queued' : 'refused'
}
