// Tells systemd what the service does, through systemd-notify: Node has no datagrams on unix
// sockets. Outside of systemd it does nothing.

import { execFile } from 'node:child_process'
import type { CliIo } from './io.ts'

export type ServiceState = 'READY=1' | 'RELOADING=1' | 'STOPPING=1'

const TIMEOUT_MS = 5_000

export interface Notifier {
  /** Tells the state, and what a person reads in `systemctl status`. Earlier ones go first. */
  tell(state: ServiceState, status: string): void
}

export function createNotifier({ env, stderr }: Pick<CliIo, 'env' | 'stderr'>): Notifier {
  let last = Promise.resolve()
  if ((env['NOTIFY_SOCKET'] ?? '') === '') return { tell: () => {} }
  const send = async (words: readonly string[]): Promise<void> => {
    const problem = await run(words, env)
    if (problem === undefined) return
    stderr.write(`warning: systemd could not be told ${words[1] ?? ''}: ${problem}\n`)
  }
  return {
    tell(state, status) {
      const words = [`--pid=${process.pid}`, state, `STATUS=${status}`]
      last = last.then(() => send(words))
    },
  }
}

function run(args: readonly string[], env: CliIo['env']): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  execFile('systemd-notify', args, { env: { ...env }, timeout: TIMEOUT_MS }, (error) => {
    resolve(error?.message)
  })
  return promise
}
