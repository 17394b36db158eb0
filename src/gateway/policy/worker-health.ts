// Decides from the results of probes whether a worker is up and which of its addresses is current.
//
// One silent probe is not an outage: periodic rounds have to fail `failuresToDown` times in a row.
// Evidence from a request is: when its own address answers no probe, that address is lost now.

export type Health =
  /**
   * No probe has ended since the gateway began to look for it: requests wait for the end of the
   * round that is under way.
   */
  | { state: 'starting' }
  | { state: 'up'; sinceMono: number }
  | { state: 'down'; sinceMono: number; sinceWall: number; error: string }

export interface HealthState {
  health: Health
  /** Index of the address that new requests use. */
  current: number | undefined
  /** Failed periodic rounds in a row. */
  misses: number
}

export interface Now {
  mono: number
  wall: number
}

export type HealthEvent =
  /** A round ended: an address answered. */
  | { type: 'answered'; address: number }
  /** A round ended: none did. A round that a request or an operator asked for is not periodic. */
  | { type: 'unanswered'; error: string; periodic: boolean; failuresToDown: number }
  /** A request's own address did not answer a probe. */
  | { type: 'lost'; address: number; error: string; addresses: number }

/** `alive` is true while bytes of an answer flow: then no probe can take the worker down. */
export function nextHealth(
  state: HealthState,
  event: HealthEvent,
  now: Now,
  alive: boolean,
): HealthState {
  switch (event.type) {
    case 'answered':
      return { health: up(state.health, now), current: event.address, misses: 0 }
    case 'unanswered':
      return unanswered(state, event, now, alive)
    case 'lost':
      if (alive || state.current !== event.address) return state
      if (event.addresses === 1) return down(state, event.error, now)
      // Another address may answer: the round that follows at once finds out.
      return { health: { state: 'starting' }, current: undefined, misses: state.misses }
  }
}

function unanswered(
  state: HealthState,
  event: Extract<HealthEvent, { type: 'unanswered' }>,
  now: Now,
  alive: boolean,
): HealthState {
  if (state.health.state === 'down') {
    return { ...state, health: { ...state.health, error: event.error } }
  }
  if (alive && state.current !== undefined) return { ...state, misses: 0 }
  const misses = state.misses + 1
  const decided =
    !event.periodic || state.health.state === 'starting' || misses >= event.failuresToDown
  return decided ? down(state, event.error, now) : { ...state, misses }
}

function up(before: Health, now: Now): Health {
  return before.state === 'up' ? before : { state: 'up', sinceMono: now.mono }
}

function down(state: HealthState, error: string, now: Now): HealthState {
  const health: Health =
    state.health.state === 'down'
      ? { ...state.health, error }
      : { state: 'down', sinceMono: now.mono, sinceWall: now.wall, error }
  return { health, current: undefined, misses: state.misses }
}

/** Milliseconds that a down worker is probed at the usual interval before the pauses grow. */
const STEADY_MS = 60_000

/**
 * Pause before the next periodic round. A worker that went down a moment ago is usually a restart:
 * it is looked for at the usual interval; later each pause doubles up to `maxBackoffMs`.
 */
export function probePause(
  health: Health,
  pauses: { intervalMs: number; maxBackoffMs: number; previousMs: number },
  monoNow: number,
): number {
  const { intervalMs, maxBackoffMs, previousMs } = pauses
  if (health.state !== 'down' || monoNow - health.sinceMono < STEADY_MS) return intervalMs
  return Math.min(Math.max(previousMs, intervalMs) * 2, Math.max(maxBackoffMs, intervalMs))
}
