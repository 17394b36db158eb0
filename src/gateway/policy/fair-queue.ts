// The order in which waiters go: between tenants by weight, between a tenant's actors evenly, by
// cost, oldest first within an actor. A data structure without clock, I/O or knowledge of workers.
//
// Start-time fair queueing on two levels. Each flow (a tenant, an actor within it) has a tag: the
// virtual time at which its next request is due. Serving a request moves the tag by cost / weight;
// the least tag goes first. Virtual time moves on with what is served, so that a flow that comes
// back gets its share from now on, neither a debt to be paid to it nor one it escapes.
//
// A request is charged its estimate when it goes, and the difference once it is known what it cost:
// the shares are those of real tokens, however wrong the estimates of one tenant's clients are.

import type { Priority } from './ask.ts'

export interface Place {
  tenant: string
  weight: number
  actor: string
  cost: number
  priority: Priority
  /** Monotonic time it entered the gateway: its place within its actor, kept over retries. */
  enteredAt: number
}

/** Background requests count as interactive once this many interactive ones have gone before them. */
export const MAX_OVERTAKES = 20
/** … or once they have waited this long. */
export const AGED_AFTER_MS = 30_000
/** Actors are named by clients; beyond this many the further ones share one place. */
const MAX_ACTORS = 10_000
const OTHER_ACTORS = '\0other'

/** Takes what a request really cost in place of its estimate. To be called at most once. */
export type Correction = (cost: number) => void

interface Queued<T> {
  item: T
  place: Place
  /** Interactive grants before it was queued. */
  grantsBefore: number
  actor: Actor<T>
}

interface Flow {
  tag: number
}

interface Actor<T> extends Flow {
  name: string
  tenant: Tenant<T>
  interactive: Queued<T>[]
  background: Queued<T>[]
}

interface Tenant<T> extends Flow {
  name: string
  weight: number
  virtualTime: number
  actors: Map<string, Actor<T>>
  /** Those with waiters, by tag. */
  active: Actor<T>[]
  waiting: number
  interactive: number
}

export class FairQueue<T> {
  readonly #tenants = new Map<string, Tenant<T>>()
  readonly #queued = new Map<T, Queued<T>>()
  #active: Tenant<T>[] = []
  #virtualTime = 0
  #actorCount = 0
  #interactiveGrants = 0

  get size(): number {
    return this.#queued.size
  }

  add(item: T, place: Place): void {
    const actor = this.#actorOf(place)
    const { tenant } = actor
    const queued = { item, place, grantsBefore: this.#interactiveGrants, actor }
    this.#queued.set(item, queued)
    if (tenant.waiting === 0) {
      tenant.tag = Math.max(tenant.tag, this.#virtualTime)
      insertByTag(this.#active, tenant)
    }
    if (actor.interactive.length + actor.background.length === 0) {
      actor.tag = Math.max(actor.tag, tenant.virtualTime)
      insertByTag(tenant.active, actor)
    }
    tenant.waiting += 1
    if (place.priority === 'interactive') tenant.interactive += 1
    insertByEntry(actor[place.priority], queued)
  }

  /** Takes a waiter out without serving it. False if it was not there. */
  remove(item: T): boolean {
    const queued = this.#queued.get(item)
    if (queued === undefined) return false
    const { actor, place } = queued
    const { tenant } = actor
    this.#queued.delete(item)
    const lane = actor[place.priority]
    lane.splice(lane.indexOf(queued), 1)
    tenant.waiting -= 1
    if (place.priority === 'interactive') tenant.interactive -= 1
    if (actor.interactive.length + actor.background.length === 0) drop(tenant.active, actor)
    if (tenant.waiting === 0) drop(this.#active, tenant)
    return true
  }

  /** Takes a waiter out because it goes now, and charges it to its tenant and actor. */
  serve(item: T): Correction | undefined {
    const queued = this.#queued.get(item)
    if (queued === undefined) return undefined
    // Not to the actor of its name: it may wait in the place that later names share.
    const correct = this.#charge(queued.actor, queued.place)
    this.remove(item)
    return correct
  }

  /** Charges a request that never had to wait: it takes part in the shares all the same. */
  charge(place: Place): Correction {
    return this.#charge(this.#actorOf(place), place)
  }

  #charge(actor: Actor<T>, place: Place): Correction {
    if (place.priority === 'interactive') this.#interactiveGrants += 1
    const { tenant } = actor
    const isActive = tenant.waiting > 0
    const weights = this.#active.reduce((sum, { weight }) => sum + weight, 0)
    const actorIsActive = tenant.active.includes(actor)
    const actors = tenant.active.length + (actorIsActive ? 0 : 1)
    const allWeights = weights + (isActive ? 0 : place.weight)

    if (!isActive) tenant.tag = Math.max(tenant.tag, this.#virtualTime)
    if (!actorIsActive) actor.tag = Math.max(actor.tag, tenant.virtualTime)
    const advance = (cost: number): void => {
      move(this.#active, tenant, tenant.tag + cost / place.weight)
      move(tenant.active, actor, actor.tag + cost)
      this.#virtualTime += cost / allWeights
      tenant.virtualTime += cost / actors
    }
    advance(place.cost)
    return (cost) => advance(cost - place.cost)
  }

  /** The waiters in the order in which they go, were each of them the next. */
  *inOrder(now: number): Generator<T> {
    for (const tenant of this.#active) {
      if (tenant.interactive === 0 && !this.#hasAged(tenant, now)) continue
      for (const actor of tenant.active) yield* this.#firstClass(actor, now)
    }
    for (const tenant of this.#active) {
      if (tenant.interactive === tenant.waiting) continue
      for (const actor of tenant.active) yield* this.#secondClass(actor, now)
    }
  }

  /** The tenant most over its share, the newcomer's included, and the newest of its waiters. */
  mostOverShare(newcomer: Place): { tenant: string; newest: T | undefined } {
    let most = {
      tenant: newcomer.tenant,
      share: this.#shareOf(newcomer.tenant, 1, newcomer.weight),
    }
    for (const { name, weight } of this.#active) {
      if (name === newcomer.tenant) continue
      const share = this.#shareOf(name, 0, weight)
      if (share > most.share) most = { tenant: name, share }
    }
    let newest: Queued<T> | undefined
    for (const actor of this.#tenants.get(most.tenant)?.active ?? []) {
      for (const last of [actor.interactive.at(-1), actor.background.at(-1)]) {
        if (last === undefined) continue
        if (newest === undefined || last.place.enteredAt > newest.place.enteredAt) newest = last
      }
    }
    return { tenant: most.tenant, newest: newest?.item }
  }

  #shareOf(tenant: string, more: number, weight: number): number {
    return ((this.#tenants.get(tenant)?.waiting ?? 0) + more) / weight
  }

  /** Interactive waiters and the background ones that have aged, by entry. */
  *#firstClass({ interactive, background }: Actor<T>, now: number): Generator<T> {
    let aged = 0
    for (const queued of interactive) {
      for (; aged < background.length; aged += 1) {
        const older = background[aged]
        if (older === undefined || older.place.enteredAt > queued.place.enteredAt) break
        if (this.#isAged(older, now)) yield older.item
      }
      yield queued.item
    }
    for (; aged < background.length; aged += 1) {
      const queued = background[aged]
      if (queued !== undefined && this.#isAged(queued, now)) yield queued.item
    }
  }

  *#secondClass({ background }: Actor<T>, now: number): Generator<T> {
    for (const queued of background) if (!this.#isAged(queued, now)) yield queued.item
  }

  #hasAged(tenant: Tenant<T>, now: number): boolean {
    return tenant.active.some(({ background: [oldest] }) =>
      oldest === undefined ? false : this.#isAged(oldest, now),
    )
  }

  #isAged({ grantsBefore, place }: Queued<T>, now: number): boolean {
    return (
      this.#interactiveGrants - grantsBefore >= MAX_OVERTAKES ||
      now - place.enteredAt >= AGED_AFTER_MS
    )
  }

  #actorOf({ tenant: name, weight, actor }: Place): Actor<T> {
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      const tag = this.#virtualTime
      const empty = { actors: new Map(), active: [], waiting: 0, interactive: 0 }
      tenant = { name, weight, tag, virtualTime: 0, ...empty }
      this.#tenants.set(name, tenant)
    }
    tenant.weight = weight
    return tenant.actors.get(actor) ?? this.#newActor(tenant, actor)
  }

  #newActor(tenant: Tenant<T>, name: string): Actor<T> {
    if (this.#actorCount >= MAX_ACTORS) this.#forgetIdle()
    if (this.#actorCount >= MAX_ACTORS && name !== OTHER_ACTORS) {
      const other = tenant.actors.get(OTHER_ACTORS)
      if (other !== undefined) return other
      name = OTHER_ACTORS
    }
    const tag = tenant.virtualTime
    const actor: Actor<T> = { name, tenant, tag, interactive: [], background: [] }
    tenant.actors.set(name, actor)
    this.#actorCount += 1
    return actor
  }

  /** An idle actor whose tag has been passed is like one that never was. */
  #forgetIdle(): void {
    for (const tenant of this.#tenants.values()) {
      for (const [name, actor] of tenant.actors) {
        const idle = actor.interactive.length + actor.background.length === 0
        if (!idle || actor.tag > tenant.virtualTime) continue
        tenant.actors.delete(name)
        this.#actorCount -= 1
      }
    }
  }
}

/** Keeps the list sorted by tag; of equals the earlier one stays first. */
function insertByTag<F extends Flow>(flows: F[], flow: F): void {
  let low = 0
  let high = flows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((flows[middle]?.tag ?? 0) <= flow.tag) low = middle + 1
    else high = middle
  }
  flows.splice(low, 0, flow)
}

/** Almost always at the end; a retried request goes back to the place it entered at. */
function insertByEntry<T>(lane: Queued<T>[], queued: Queued<T>): void {
  let at = lane.length
  while (at > 0 && (lane[at - 1]?.place.enteredAt ?? 0) > queued.place.enteredAt) at -= 1
  lane.splice(at, 0, queued)
}

/** Gives a flow its new tag and, if it is in the list, its new place there. */
function move<F extends Flow>(flows: F[], flow: F, tag: number): void {
  const at = flows.indexOf(flow)
  flow.tag = tag
  if (at === -1) return
  flows.splice(at, 1)
  insertByTag(flows, flow)
}

function drop<F>(flows: F[], flow: F): void {
  const at = flows.indexOf(flow)
  if (at !== -1) flows.splice(at, 1)
}
