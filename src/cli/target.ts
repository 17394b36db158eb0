// What a context points at: a socket of this machine, or a gateway behind ssh. Pure.

import { CliError } from './exit-codes.ts'

export type Target =
  | { kind: 'socket'; path: string; text: string }
  | {
      kind: 'ssh'
      host: string
      user: string | undefined
      port: number | undefined
      path?: undefined
      text: string
    }

/** Throws a usage error that shows both forms. */
export function parseTarget(text: string): Target {
  if (text.startsWith('/') || text.startsWith('\\\\.\\pipe\\'))
    return { kind: 'socket', path: text, text }
  // The host goes to ssh as an argument: it must not be able to look like an option.
  const match = /^ssh:\/\/(?:([\w.+-]+)@)?(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i.exec(text)
  const [, user, host, port] = match ?? []
  const isOption = host?.startsWith('-') === true || user?.startsWith('-') === true
  if (host === undefined || isOption || Number(port ?? 22) > 65_535) {
    throw new CliError(
      'usage',
      `"${text}" is neither the path of a socket nor ssh://user@host[:port]`,
      {
        details: ['for example /run/ogw/admin.sock or ssh://me@gpu-box'],
      },
    )
  }
  return {
    kind: 'ssh',
    host: host.replace(/^\[|\]$/g, ''),
    user,
    port: port === undefined ? undefined : Number(port),
    text,
  }
}

/** Arguments of `ssh` that run the bridge on the other side. */
export function sshArguments(target: Extract<Target, { kind: 'ssh' }>): string[] {
  const port = target.port === undefined ? [] : ['-p', String(target.port)]
  const user = target.user === undefined ? [] : ['-l', target.user]
  return ['-T', ...port, ...user, '--', target.host, 'ogw admin-proxy']
}
