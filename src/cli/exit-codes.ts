// The only place that knows exit codes. They are documented in docs/cli.md; a script must treat a
// code that it does not know as failure.

import { CommanderError } from 'commander'
import { AdminError } from '../gateway/contract/faults.ts'

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  configInvalid: 3,
  notReachable: 4,
  notFound: 5,
  refused: 6,
  unhealthy: 7,
  badConfigOrState: 78,
  interrupted: 130,
} as const

export type ExitName = keyof typeof EXIT

/** What each code means, in the words of docs/cli.md. */
export const EXIT_MEANING: Readonly<Record<ExitName, string>> = {
  ok: 'done, or nothing to do',
  failed: 'failed for a reason that is none of those below',
  usage: 'the command line is wrong',
  configInvalid: 'the config file is invalid',
  notReachable: 'the gateway is not reachable',
  notFound: 'there is no such worker, model, request, context or entry',
  refused: 'the gateway refused the change, or a backup cannot be restored',
  unhealthy: 'the gateway, or something that `doctor` checked, is unhealthy',
  badConfigOrState: '`serve` was started with a bad config or state',
  interrupted: 'interrupted by Ctrl-C',
}

/** A failure that the CLI itself found. Its details are printed below the message, a line each. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exit: ExitName
  readonly details: readonly string[]

  constructor(exit: ExitName, message: string, options: CliErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.exit = exit
    this.details = options.details ?? []
  }
}

export interface CliErrorOptions {
  details?: readonly string[]
  cause?: unknown
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof CliError) return EXIT[error.exit]
  return error instanceof AdminError ? EXIT[exitOfFault(error.code)] : EXIT.failed
}

function exitOfFault(code: AdminError['code']): ExitName {
  switch (code) {
    case 'invalid_input':
      return 'usage'
    case 'not_found':
      return 'notFound'
    case 'conflict':
    case 'refused':
      return 'refused'
    case 'config_invalid':
      return 'configInvalid'
    case 'not_running':
    case 'disconnected':
      return 'notReachable'
    case 'not_saved':
    case 'failed':
    case 'internal':
      return 'failed'
    default:
      // A newer gateway may know a code that this program does not.
      return 'failed'
  }
}
