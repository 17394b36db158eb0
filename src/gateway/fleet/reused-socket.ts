// Tells a connection that broke after it had carried an earlier answer from one that never worked.
// undici passes the system's own errors on without saying which socket they came from.

import type { buildConnector as BuildConnector } from 'undici'
import { buildConnector } from './undici.ts'

type Connector = ReturnType<typeof buildConnector>

const broken = new WeakSet<Error>()

/** A connector whose sockets leave a note on the error that ends them. */
export function notingConnector(options: BuildConnector.BuildOptions): Connector {
  const connect = buildConnector(options)
  return (target, callback) =>
    connect(target, (...result) => {
      const [, socket] = result
      socket?.prependListener('error', (error: Error) => {
        if (socket.bytesRead > 0) broken.add(error)
      })
      callback(...result)
    })
}

/** True where bytes had been read from the connection before it broke. */
export function brokeAfterReuse(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (broken.has(error)) return true
  if (!('socket' in error)) return false
  const { socket } = error
  if (typeof socket !== 'object' || socket === null || !('bytesRead' in socket)) return false
  return typeof socket.bytesRead === 'number' && socket.bytesRead > 0
}
