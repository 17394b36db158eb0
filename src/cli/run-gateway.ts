// Runs the gateway in the foreground until a signal ends it: what `serve` and `demo` share.
// SIGTERM and SIGINT drain, a second one ends at once; SIGHUP reloads the config.

import type { LoadedConfig } from '../gateway/config/load.ts'
import type { Gateway } from '../gateway/main.ts'
import { createNotifier } from './notify.ts'
import type { Notifier } from './notify.ts'
import { CliError } from './exit-codes.ts'
import type { CliIo } from './io.ts'
import { VERSION } from '../gateway/contract/version.ts'

export interface RunOptions {
  loaded: LoadedConfig
  /** Undefined where the config is no file: there is nothing to reload then. */
  file: string | undefined
  /** Called once the gateway listens. */
  onListening?(gateway: Gateway): void
}

/** Resolves when the gateway has ended. Throws CliError where it cannot start. */
export async function runGateway(io: CliIo, options: RunOptions): Promise<void> {
  const early = heldReloads()
  const gateway = await start(io, options).finally(early.release)
  const notifier = createNotifier(io)
  const ended = untilSignalled(gateway, notifier)
  if (early.asked) gateway.reload()
  notifier.tell('READY=1', 'listening')
  options.onListening?.(gateway)
  await ended
}

async function start(io: CliIo, { loaded, file }: RunOptions): Promise<Gateway> {
  const { startGateway } = await import('../gateway/main.ts')
  try {
    return await startGateway({ loaded, file, env: io.env, version: VERSION })
  } catch (error) {
    throw startFailure(error)
  }
}

/** A StartError names its own exit code; what the system says of a listener is told as it is. */
export function startFailure(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  if ('exitCode' in cause) {
    return new CliError(cause.exitCode === 78 ? 'badConfigOrState' : 'failed', cause.message, {
      cause,
    })
  }
  if ('code' in cause && cause.code === 'EADDRINUSE') {
    return new CliError('failed', `${cause.message}: something else listens there`, { cause })
  }
  if ('code' in cause && (cause.code === 'EADDRNOTAVAIL' || cause.code === 'EACCES')) {
    return new CliError('failed', cause.message, { cause })
  }
  return cause
}

/**
 * SIGHUP while the gateway starts: whoever has just written the config must not end it. What was
 * asked for is done once it runs.
 */
function heldReloads(): { readonly asked: boolean; release: () => void } {
  let asked = false
  const hold = (): void => void (asked = true)
  process.on('SIGHUP', hold)
  return {
    get asked() {
      return asked
    },
    release: () => void process.off('SIGHUP', hold),
  }
}

function untilSignalled(gateway: Gateway, notifier: Notifier): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = (): void => {
    notifier.tell('STOPPING=1', 'draining')
    gateway.stop().then(resolve, reject)
  }
  const reload = (): void => {
    notifier.tell('RELOADING=1', 'reading the config')
    gateway.reload()
    notifier.tell('READY=1', 'listening')
  }
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', reload)
  return promise.finally(() => {
    process.off('SIGTERM', stop).off('SIGINT', stop).off('SIGHUP', reload)
  })
}
