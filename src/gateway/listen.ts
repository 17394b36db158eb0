// A TCP listener is open, or says why it is not.

import type { AddressInfo, Server } from 'node:net'

/** Rejects with the system's error. Resolves with the port that the system chose for 0. */
export function listen(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<AddressInfo>()
  server.once('error', reject)
  server.listen({ host, port }, () => {
    server.off('error', reject)
    const address = server.address()
    // A string is the path of a pipe, which no caller listens on.
    if (address === null || typeof address === 'string') reject(new Error('no TCP address'))
    else resolve(address)
  })
  return promise
}
