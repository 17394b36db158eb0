// What may be sent to a worker on which a model waits to be loaded. Ollama loads one model at a
// time, and a loaded model's requests overtake the waiting load: one of them with an explicit
// keep_alive leaves that load stuck for minutes on an idle worker (transcripts/README.md).

import type { Loaded, LoadedModel } from '../fleet/worker.ts'

/** A request was sent for a model that is not resident there, and its load has not begun yet. */
export interface PendingLoad {
  key: string
  /** The num_ctx with which it is to be loaded; undefined = the worker's default. */
  numCtx: number | undefined
  /** Monotonic time it was sent. */
  since: number
  /** Keys that were resident then: the load has begun when one of them is gone. */
  residents: ReadonlySet<string>
  /** Monotonic time since which nothing else has been running there; undefined while something is. */
  idleSince: number | undefined
}

/** A load that waits this long is let through: nothing else is sent there until it has begun. */
export const LOAD_PATIENCE_MS = 5_000

/** On a worker that is otherwise idle a load begins within a second; after this it is stuck. */
export const STUCK_AFTER_MS = 8_000

/** What one request wants of the model's residence. */
export interface LoadWish {
  key: string
  numCtx: number | undefined
  keepsAlive: boolean
  /** The model is resident as it needs it. */
  warm: boolean
}

/** Undefined = it may be sent; else why not, in a sentence. */
export function stoppedByLoad(
  pending: PendingLoad | undefined,
  wish: LoadWish,
  now: number,
): string | undefined {
  if (pending === undefined || joins(pending, wish)) return undefined
  if (!wish.warm) return `a load of ${pending.key} is pending there`
  if (wish.keepsAlive) {
    return `a load of ${pending.key} is pending there, which a request with keep_alive would hold up`
  }
  if (now - pending.since >= LOAD_PATIENCE_MS) {
    return `a load of ${pending.key} has been pending there for ${Math.round((now - pending.since) / 1000)} s and goes first`
  }
  return undefined
}

function joins(pending: PendingLoad, wish: LoadWish): boolean {
  return pending.key === wish.key && pending.numCtx === wish.numCtx
}

/** By /api/ps: the victim is gone, or the new model is there as it was asked for. */
export function hasBegun(pending: PendingLoad, loaded: Loaded): boolean {
  if (loaded.state === 'unknown' || loaded.readAt <= pending.since) return false
  const own = loaded.models.get(pending.key)
  if (own !== undefined && (!pending.residents.has(pending.key) || isReloaded(pending, own))) {
    return true
  }
  for (const key of pending.residents) if (!loaded.models.has(key)) return true
  return false
}

function isReloaded(pending: PendingLoad, own: LoadedModel): boolean {
  return pending.numCtx !== undefined && own.contextLength === pending.numCtx
}

/**
 * The idle model to unload, if the load has not begun although nothing else runs there: the one
 * that would have expired first, as Ollama chooses. Only an answer of /api/ps from after the
 * worker went idle counts as proof.
 */
export function stuckVictim(pending: PendingLoad, loaded: Loaded, now: number): string | undefined {
  const { idleSince } = pending
  if (idleSince === undefined || now - idleSince < STUCK_AFTER_MS) return undefined
  if (loaded.state === 'unknown' || loaded.readAt <= idleSince || hasBegun(pending, loaded)) {
    return undefined
  }
  // A model that is to be reloaded may be at work already: it is no victim of itself.
  const victims = [...loaded.models.values()].filter(
    ({ key }) => key !== pending.key && pending.residents.has(key),
  )
  return victims.toSorted((a, b) => (a.expiresAt < b.expiresAt ? -1 : 1))[0]?.key
}
