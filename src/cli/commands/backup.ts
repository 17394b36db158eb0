// `ogw backup`: all of the config and the state in one ZIP, and back.

import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { Command } from 'commander'
import { VERSION } from '../../gateway/contract/version.ts'
import { BackupError } from '../../gateway/state/backup-error.ts'
import { mainFiles } from '../../gateway/state/backup-sources.ts'
import type { Places } from '../../gateway/state/backup-sources.ts'
import { backupBytes, writeBackup } from '../../gateway/state/backup.ts'
import type { BackupRequest, MadeBackup } from '../../gateway/state/backup.ts'
import { isDecided } from '../../gateway/state/restore-journal.ts'
import { worded } from '../backup-failure.ts'
import { CONFIG_TEXT, gatewayOver, placesOfRunning, placesOnDisk } from '../backup-places.ts'
import { createdWords } from '../backup-words.ts'
import type { CreatedRow } from '../backup-words.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import { addExamples } from '../options.ts'
import { restoreCommand } from './backup-restore.ts'

export function backupCommand(context: CliContext): Command {
  const backup = new Command('backup')
    .description('make a backup of config and state, and restore one')
    .addCommand(createCommand(context))
    .addCommand(restoreCommand(context))
  return addExamples(backup, [
    ['ogw backup create', 'into this folder; the gateway may run'],
    ['ogw backup restore FILE --dry-run', 'verify it, and say what a restore would change'],
    ['ogw backup restore FILE', 'while the gateway is stopped'],
  ])
}

interface CreateFlags {
  config?: string
  force?: boolean
}

function createCommand(context: CliContext): Command {
  const create = new Command('create')
    .description('write config and all state to a ZIP with a manifest and checksums')
    .argument('[file]', 'where to; - is stdout (default: ogw-backup-TIME.zip in this folder)')
    .option('--config <file>', CONFIG_TEXT)
    .option('--force', 'overwrite the file')
    .action((file: string | undefined, flags: CreateFlags) =>
      worded(() => createBackup(context, file, flags)),
    )
  return addExamples(create, [
    ['ogw backup create', 'of the running gateway, or of the one that last ran here'],
    ['ogw backup create /mnt/nas/ogw.zip --force', 'always the same file'],
    ['ssh box ogw backup create - > box.zip', 'of another machine'],
  ])
}

async function createBackup(
  context: CliContext,
  given: string | undefined,
  { config, force = false }: CreateFlags,
): Promise<void> {
  const { io } = context
  if (given === '-') assertPipe(context)
  const { places, gateway } = await sourceOf(context, config)
  const now = new Date(io.now())
  const file = given ?? `ogw-backup-${stampOf(now)}.zip`
  if (given !== '-') assertNoSource(places, file)
  const signal = io.interrupted()
  const request = { places, ogwVersion: VERSION, host: hostname(), now, signal }
  const { manifest, size } = await (given === '-'
    ? toStdout(context, request)
    : writeBackup(request, { file, overwrite: force }))
  const { created_at, config_file, state_dir, entries, absent } = manifest
  const facts = { created_at, gateway, config_file, state_dir, entries, absent }
  const row: CreatedRow = { file, size_bytes: size, ...facts }
  if (given !== '-') context.print(row, () => file)
  createdWords(row).forEach((line) => context.say(line))
}

function assertPipe({ io, options }: CliContext): void {
  if (options.json) throw new CliError('usage', 'say --json or -, not both')
  if (io.stdout.isTTY !== true) return
  throw new CliError('usage', 'a ZIP is not written to a terminal: name a file')
}

/** What the backup is of. A gateway that runs over it has written all it had by then. */
async function sourceOf(
  context: CliContext,
  config: string | undefined,
): Promise<{ places: Places; gateway: CreatedRow['gateway'] }> {
  const asked = config === undefined ? await placesOfRunning(context) : undefined
  const places = asked ?? placesOnDisk(context.io, config)
  assertState(places)
  if (asked !== undefined) return { places, gateway: 'running' }
  const over = await gatewayOver(places.state.dir, context)
  if (over === undefined) return { places, gateway: 'stopped' }
  if (over.unsure === undefined) return { places, gateway: 'running' }
  context.say(`warning: the newest seconds may be missing: ${over.unsure}`)
  return { places, gateway: 'stopped' }
}

/** --force overwrites the backup of yesterday, and never what is backed up. */
function assertNoSource(places: Places, file: string): void {
  const same = mainFiles(places).find((source) => source.file === path.resolve(file))
  if (same === undefined) return
  const message = `${file} is the ${same.role} itself, which would be lost: name another file`
  throw new CliError('refused', message)
}

async function toStdout({ io }: CliContext, request: BackupRequest): Promise<MadeBackup> {
  const { chunks, result } = backupBytes(request)
  for await (const chunk of chunks) io.stdout.write(chunk)
  return result()
}

/** A backup of nothing, taken as another user, is worse than none. */
function assertState({ state }: Places): void {
  if (!existsSync(state.dir)) {
    const details = [
      'say --config FILE, set STATE_DIRECTORY, or run this as the user of the gateway',
      '`ogw storage` shows where the state of a running gateway is',
    ]
    throw new CliError('notFound', `there is no state folder ${state.dir}`, { details })
  }
  if (!isDecided(state.dir)) return
  const what = 'start the gateway, or restore again: either does the rest'
  throw new BackupError('refused', `a restore in ${state.dir} was interrupted: ${what}`)
}

/** `20260501T120000Z`: names in the order of their times. */
function stampOf(now: Date): string {
  return now.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')
}
