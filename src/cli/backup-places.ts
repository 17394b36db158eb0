// Which files a backup is about, and which gateway runs over them. A running gateway is believed;
// otherwise config and state are where `ogw serve` would find them.

import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { findConfigFile } from '../gateway/config/load.ts'
import { problemText } from '../gateway/config/problem.ts'
import { writtenStorage } from '../gateway/config/written-storage.ts'
import { AdminError } from '../gateway/contract/faults.ts'
import { flushedBy } from '../gateway/contract/flushed.ts'
import type { Flushed } from '../gateway/contract/schema/gateway.ts'
import { BackupError } from '../gateway/state/backup-error.ts'
import type { Places } from '../gateway/state/backup-sources.ts'
import { messageOf } from '../gateway/state/disk.ts'
import { STATE_ROLES } from '../gateway/state/state-files.ts'
import type { StatePlaces } from '../gateway/state/state-files.ts'
import { isSameFolder, stateOwner } from '../gateway/state/state-owner.ts'
import type { StateOwner } from '../gateway/state/state-owner.ts'
import { actorOf, localSockets } from './connect.ts'
import type { CliContext } from './context.ts'
import { CliError } from './exit-codes.ts'
import type { CliIo } from './io.ts'

export const CONFIG_TEXT = 'config that says where state is (default: as `ogw serve` finds it)'

/** A gateway that does not answer within it hangs, but it is there. */
const ANSWER_MS = 5_000

/** Those of the gateway that commands reach, all of it written to disk; undefined = none runs. */
export async function placesOfRunning(context: CliContext): Promise<Places | undefined> {
  let flushed: Flushed
  try {
    flushed = await context.admin().call('storage.flush', {})
  } catch (error) {
    // Who named a gateway means that one, and not whatever is on this disk.
    const named = context.options.socket ?? context.options.context
    const nobody = error instanceof AdminError && error.code === 'not_running'
    if (nobody && named === undefined && !isForbidden(error)) return undefined
    throw error
  }
  const { host, config_file: config, dir, files } = flushed
  if (host !== hostname()) {
    const details = [`run it there, as in \`ssh ${host} ogw backup create - > backup.zip\``]
    throw new CliError('usage', `that gateway runs on ${host}, and its files are there`, {
      details,
    })
  }
  const paths = new Map(files.map((file) => [file.name, file.path]))
  return { config: config ?? undefined, state: statePlaces(dir, paths) }
}

/** As `ogw serve` finds them. `file` is from --config and need not exist where it is restored. */
export function placesOnDisk(io: CliIo, file: string | undefined, text?: string): Places {
  const config = file ?? findConfigFile(io.env)
  const absolute = config === undefined ? undefined : path.resolve(config)
  const written = writtenStorage(text ?? textOf(absolute), io.env)
  if (written.ok) return { config: absolute, state: written.paths }
  const message = `${config ?? 'the config'} does not say where state is`
  throw new CliError('configInvalid', message, { details: written.problems.map(problemText) })
}

/** As a gateway would use them that starts now; undefined where none would, for want of a config. */
export function placesInForce(io: CliIo, file: string | undefined): Places | undefined {
  try {
    return placesOnDisk(io, file)
  } catch (error) {
    if (error instanceof CliError) return undefined
    throw error
  }
}

/** Whether every file of the state is at the same place. */
export function isSamePlace({ state: a }: Places, { state: b }: Places): boolean {
  return STATE_ROLES.every((role) => a[role] === b[role])
}

function textOf(file: string | undefined): string {
  if (file === undefined) return '{}'
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new CliError('configInvalid', `cannot read the config ${file}: ${messageOf(cause)}`, {
      cause,
    })
  }
}

/** `paths`: by role; a gateway names no file that is switched off. */
function statePlaces(dir: string, paths: ReadonlyMap<string, string>): StatePlaces {
  const entries = STATE_ROLES.map((role) => [role, paths.get(role) ?? null] as const)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each role
  return { dir, ...Object.fromEntries(entries) } as StatePlaces
}

/** A gateway over a state folder: one that answered, or one that must be taken for alive. */
export interface RunningGateway {
  /** As in `process 7`. */
  who: string
  host: string
  /** Why it could not be asked; undefined = it answered, and has written all it had. */
  unsure: string | undefined
}

/** Undefined = no gateway runs over the folder. Rejects nothing. */
export async function gatewayOver(
  dir: string,
  context: CliContext,
): Promise<RunningGateway | undefined> {
  const owner = stateOwner(dir)
  const named = owner === undefined ? undefined : await ownerAlive(owner, dir, context.io)
  return named ?? (await reachedOver(dir, context))
}

/** By its own word in the folder. */
async function ownerAlive(
  { pid, socket, host }: StateOwner,
  dir: string,
  io: CliIo,
): Promise<RunningGateway | undefined> {
  const who = `process ${pid}`
  try {
    const flushed = await flushedBy(socket, { actor: actorOf(io), ms: ANSWER_MS })
    if (flushed === undefined) return { who, host, unsure: 'it does not answer' }
    // Another gateway may have the socket by now.
    return isSameFolder(flushed.dir, dir) ? { who, host, unsure: undefined } : undefined
  } catch (error) {
    const gone = error instanceof AdminError && error.code === 'not_running' && !isForbidden(error)
    if (gone && host === hostname()) return undefined
    const forbidden = error instanceof AdminError && isForbidden(error)
    const why = forbidden ? `this user may not ask it at ${socket}` : messageOf(error)
    const unsure = gone ? `it ran on ${host}, where this machine cannot ask` : why
    return { who, host, unsure }
  }
}

/** Its word may be gone: whoever clears a broken state folder clears that too. */
async function reachedOver(
  dir: string,
  { io, options }: CliContext,
): Promise<RunningGateway | undefined> {
  for (const socket of localSockets(io, { socket: options.socket, context: undefined })) {
    try {
      const flushed = await flushedBy(socket, { actor: actorOf(io), ms: ANSWER_MS })
      const here = flushed?.host === hostname() && isSameFolder(flushed.dir, dir)
      if (here) return { who: `socket ${socket}`, host: flushed.host, unsure: undefined }
    } catch {
      // None there, or none that this user may ask: as where no gateway has said anything.
    }
  }
  return undefined
}

/** Throws BackupError where a gateway runs, or may run, over the folder. */
export async function assertStopped(
  dir: string,
  context: CliContext,
  force: boolean,
): Promise<void> {
  const gateway = await gatewayOver(dir, context)
  if (gateway === undefined) return
  const { who, host, unsure } = gateway
  const what = 'stop it first (`systemctl stop ogw`), restore, and start it again'
  if (unsure === undefined) {
    const message = `a gateway runs over ${dir} (${who}) and would write over what is restored: ${what}`
    throw new BackupError('refused', message)
  }
  // Of a container that was killed nobody can say more than that it was there.
  const elsewhere = host !== hostname()
  if (force && elsewhere) return
  const otherwise = elsewhere
    ? 'if it is gone for sure, say --force'
    : 'if this user may not ask it, run this as its user'
  const message = `a gateway may run over ${dir} (${who} on ${host}): ${unsure}. If it does, ${what}; ${otherwise}`
  throw new BackupError('refused', message)
}

/** A socket that this user may not use says nothing about who listens. */
function isForbidden(error: AdminError): boolean {
  const { tried } = error.details
  return Array.isArray(tried) && tried.some((one: { code?: unknown }) => one.code === 'EACCES')
}
