// `ogw admin-proxy`: bridges stdin and stdout to the admin socket of this machine. `ssh host ogw
// admin-proxy` is how a console elsewhere reaches a gateway without any port being forwarded.

import { connect as connectSocket, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { Command } from 'commander'
import { AdminError } from '../../gateway/contract/faults.ts'
import { localSockets } from '../connect.ts'
import type { CliContext } from '../context.ts'
import { addExamples } from '../options.ts'

export function adminProxyCommand(context: CliContext): Command {
  const command = new Command('admin-proxy')
    .description('bridge stdin and stdout to the admin socket, for use over ssh')
    .action(async () => {
      await bridge(context, await connectFirst(context))
    })
  return addExamples(command, [
    ['ssh me@gpu-box ogw admin-proxy', 'what an ssh:// context runs by itself'],
  ])
}

/** Each direction ends by itself: an end of stdin lets the answer still come through. */
async function bridge({ io }: CliContext, socket: Socket): Promise<void> {
  const up = pipeline(io.stdin, socket).catch((error: unknown) => {
    // The gateway hung up first; what it had to say has come through the other direction.
    if (!socket.destroyed) throw error
  })
  for await (const chunk of socket as AsyncIterable<Buffer>) io.stdout.write(chunk)
  io.stdin.destroy?.()
  socket.destroy()
  await up
}

async function connectFirst({ io, options }: CliContext): Promise<Socket> {
  const tried: string[] = []
  for (const path of localSockets(io, { ...options, context: undefined })) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- the second is tried only if the first fails
      return await connectTo(path)
    } catch (error) {
      tried.push(`${path} (${error instanceof Error ? error.message : String(error)})`)
    }
  }
  throw new AdminError({
    code: 'not_running',
    message: `no gateway answers; tried ${tried.join(', ')}. Start one with \`ogw serve\``,
  })
}

function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ path, allowHalfOpen: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
