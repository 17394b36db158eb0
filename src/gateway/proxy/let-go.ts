import type { Clock } from '../clock.ts'

/** A worker notices a closed connection within a turn of its own loop. */
const LET_GO_MS = 5

/** After a connection was broken off: calls back once its worker has seen that, and the slot is free. */
export function letGo(clock: Clock, action: () => void): void {
  // A late timer fires before the loop has sent anything: one more turn of it.
  clock.after(LET_GO_MS, () => setImmediate(action))
}
