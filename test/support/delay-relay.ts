// A network that is slow: passes bytes on in both directions, each a fixed time later, in order.

import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface DelayRelay extends AsyncDisposable {
  url: string
}

export async function startDelayRelay(target: string, delayMs: number): Promise<DelayRelay> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), delayMs))
      from.on('end', () => setTimeout(() => to.end(), delayMs))
      from.on('error', () => setTimeout(() => to.destroy(), delayMs))
      from.on('close', () => {
        sockets.delete(from)
        setTimeout(() => to.destroy(), delayMs)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: own } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${own}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
