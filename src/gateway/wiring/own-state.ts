// One gateway for each state folder: of two, each would write over what the other has written.

import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { AdminClient } from '../contract/client.ts'
import { socketTransport } from '../contract/transport.ts'
import type { Log } from '../observe/log.ts'
import { StartError } from '../start-error.ts'
import { claimState, stateOwner } from '../state/state-owner.ts'

/** A gateway that is asked answers from memory. */
const ANSWER_MS = 2_000

/** Rejects with StartError where another process runs over the folder, by a socket of its own. */
export async function refuseSharedState(dir: string, socket: string): Promise<void> {
  const other = stateOwner(dir)
  if (other === undefined || other.pid === process.pid || other.host !== hostname()) return
  // On the same socket the socket itself decides, and says so.
  if (other.socket === socket || (await folderOf(other.socket)) !== dir) return
  const message = `another gateway keeps its state in ${dir} (process ${other.pid}, socket ${other.socket}), and each would write over the other's. Stop it, or name another folder with storage.dir`
  throw new StartError(message, 1)
}

/** Of the gateway that answers there; undefined = none does. */
async function folderOf(socket: string): Promise<string | undefined> {
  const client = new AdminClient({ transport: socketTransport([socket]), actor: 'gateway' })
  const ended = new AbortController()
  try {
    const answer = await Promise.race([
      client.call('storage.flush', {}),
      delay(ANSWER_MS, undefined, { signal: ended.signal }),
    ])
    return answer?.dir
  } catch {
    return undefined // gone, or not to be asked by this user: nothing speaks against a start
  } finally {
    ended.abort()
    client.close()
  }
}

/**
 * Says in the folder who runs over it. A folder that cannot be written starts nothing less: a
 * restore there would fail as well.
 */
export function sayOwner(
  dir: string,
  socket: string,
  { clock, log }: { clock: Clock; log: Log },
): Disposable | undefined {
  const started_at = new Date(clock.now()).toISOString()
  try {
    return claimState(dir, { pid: process.pid, host: hostname(), socket, started_at })
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    log.event('state.trouble', { problem })
    return undefined
  }
}
