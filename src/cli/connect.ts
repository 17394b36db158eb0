// Finds the gateway that a command means and gives a client for it: the named socket, the chosen
// context, or the first default place where one listens.

import { readlinkSync } from 'node:fs'
import { userInfo } from 'node:os'
import { AdminClient } from '../gateway/contract/client.ts'
import { socketCandidates } from '../gateway/contract/socket-path.ts'
import { socketTransport, streamTransport, type Transport } from '../gateway/contract/transport.ts'
import { readContexts } from './context-store.ts'
import { CliError } from './exit-codes.ts'
import type { CliIo } from './io.ts'
import { openSsh } from './ssh.ts'
import { parseTarget, type Target } from './target.ts'

export interface Choice {
  /** From --socket. */
  socket: string | undefined
  /** From --context. */
  context: string | undefined
}

export function connect(io: CliIo, choice: Choice): AdminClient {
  const { readOnly = false } = io
  return new AdminClient({ transport: transportOf(io, choice), actor: actorOf(io), readOnly })
}

/** Where a gateway of this machine may listen, in order. */
export function localSockets(io: CliIo, choice: Choice, configured?: string): string[] {
  return socketCandidates({
    platform: process.platform,
    env: io.env,
    uid: process.getuid?.(),
    flag: choice.socket,
    configured,
  }).map(({ path }) => path)
}

function transportOf(io: CliIo, choice: Choice): Transport {
  const target = targetOf(io, choice)
  if (target?.kind === 'ssh') {
    return streamTransport(target.text, () => openSsh(target, io))
  }
  // A context that was named beats OGW_SOCKET, which localSockets would put first.
  const named = choice.context !== undefined && target?.kind === 'socket' ? target.path : undefined
  return socketTransport(
    localSockets(io, { ...choice, socket: named ?? choice.socket }, target?.path),
  )
}

/** --socket and OGW_SOCKET beat the current context, and --context beats OGW_SOCKET. */
function targetOf(io: CliIo, { socket, context }: Choice): Target | undefined {
  if (socket !== undefined && context !== undefined) {
    throw new CliError('usage', 'say --socket or --context, not both')
  }
  if (socket !== undefined) return undefined
  if (context === undefined && (io.env['OGW_SOCKET'] ?? '') !== '') return undefined
  const saved = readContexts(io.env)
  const name = context ?? saved.current
  if (name === undefined) return undefined
  const text = saved.contexts.get(name)
  if (text === undefined) {
    throw new CliError('notFound', `there is no context "${name}"`, {
      details: ['`ogw context list` shows those there are, `ogw context add` makes one'],
    })
  }
  return parseTarget(text)
}

/** Who asks, as in `root@pts/3`. It is a claim: the socket cannot tell. */
export function actorOf(io: CliIo): string {
  const user = io.env['SUDO_USER'] ?? io.env['USER'] ?? io.env['LOGNAME'] ?? nameOfUser()
  return `${user}@${io.stdin.isTTY === true ? terminalName() : 'cli'}`
}

function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that has no entry in passwd.
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}

function terminalName(): string {
  try {
    return readlinkSync('/proc/self/fd/0').replace(/^\/dev\//, '')
  } catch {
    // Only Linux has /proc.
    return 'tty'
  }
}
