// One gateway for each state folder: of two, each would write over what the other has written.

import { hostname } from 'node:os'
import type { Clock, Timer } from '../clock.ts'
import { flushedBy } from '../contract/flushed.ts'
import type { Log } from '../observe/log.ts'
import { StartError } from '../start-error.ts'
import { messageOf } from '../state/disk.ts'
import { claimState, isSameFolder, stateOwner } from '../state/state-owner.ts'
import type { StateOwner } from '../state/state-owner.ts'

/** A gateway that is asked answers from memory. */
const ANSWER_MS = 2_000
/** A full disk may have room again. */
const SAY_AGAIN_MS = 60_000

/**
 * Says in the folder who runs over it, by a socket that listens already: of two that start at once
 * the later one finds the earlier one there. Rejects with StartError where another process runs over
 * the folder and answers; one that was killed, or that nobody can ask, keeps nobody from starting.
 * `restored` is asked last: whoever restores from then on finds this gateway there.
 */
export async function ownState(
  dir: string,
  socket: string,
  parts: { clock: Clock; log: Log; restored(): boolean },
): Promise<Disposable> {
  const owner = await claimed(dir, socket, parts)
  if (!parts.restored()) return owner
  owner[Symbol.dispose]()
  const message = `the state in ${dir} was restored while this gateway read it: start it again`
  throw new StartError(message, 1)
}

async function claimed(
  dir: string,
  socket: string,
  parts: { clock: Clock; log: Log },
): Promise<Disposable> {
  for (;;) {
    const other = stateOwner(dir)
    await refuseShared(other, dir, socket)
    // While it was asked, one more may have come. Nothing is awaited from here to the claim.
    if (stateOwner(dir)?.started_at === other?.started_at) return claim(dir, socket, parts)
  }
}

async function refuseShared(
  other: StateOwner | undefined,
  dir: string,
  socket: string,
): Promise<void> {
  if (other === undefined || other.pid === process.pid || other.host !== hostname()) return
  // This one listens there by now, and so the other does no more.
  if (other.socket === socket) return
  const folder = await folderOf(other.socket)
  if (folder === undefined || !isSameFolder(folder, dir)) return
  const message = `another gateway keeps its state in ${dir} (process ${other.pid}, socket ${other.socket}), and each would write over the other's. Stop it, or name another folder with storage.dir`
  throw new StartError(message, 1)
}

/** Of the gateway that answers there; undefined = none does. */
async function folderOf(socket: string): Promise<string | undefined> {
  try {
    return (await flushedBy(socket, { actor: 'gateway', ms: ANSWER_MS }))?.dir
  } catch {
    return undefined // gone, or not to be asked by this user: nothing speaks against a start
  }
}

/** A folder that cannot be written starts nothing less: a restore there would fail as well. */
function claim(
  dir: string,
  socket: string,
  { clock, log }: { clock: Clock; log: Log },
): Disposable {
  const started_at = new Date(clock.now()).toISOString()
  const owner = { pid: process.pid, host: hostname(), socket, started_at }
  let said: Disposable | undefined
  let timer: Timer | undefined
  const say = (): string | undefined => {
    try {
      said = claimState(dir, owner)
      return undefined
    } catch (error) {
      timer = clock.after(SAY_AGAIN_MS, say)
      return messageOf(error)
    }
  }
  const problem = say()
  if (problem !== undefined) log.event('state.trouble', { problem })
  return {
    [Symbol.dispose]() {
      timer?.cancel()
      said?.[Symbol.dispose]()
    },
  }
}
