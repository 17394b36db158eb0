// Asks one socket whether a gateway lives there, and of which state. It is asked to write what it has
// in memory, which makes the answer good for a backup too.

import { setTimeout as delay } from 'node:timers/promises'
import { AdminClient } from './client.ts'
import type { Flushed } from './schema/gateway.ts'
import { socketTransport } from './transport.ts'

/** Undefined = it did not answer within `ms`. Rejects with AdminError, as where nobody listens. */
export async function flushedBy(
  socket: string,
  { actor, ms }: { actor: string; ms: number },
): Promise<Flushed | undefined> {
  const client = new AdminClient({ transport: socketTransport([socket]), actor })
  const ended = new AbortController()
  try {
    return await Promise.race([
      client.call('storage.flush', {}),
      delay(ms, undefined, { signal: ended.signal }),
    ])
  } finally {
    ended.abort()
    client.close()
  }
}
