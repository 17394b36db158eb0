// `ogw backup`: all of the config and the state in one ZIP, and back.

import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { Command } from 'commander'
import { loadConfig } from '../../gateway/config/load.ts'
import { problemText } from '../../gateway/config/problem.ts'
import { VERSION } from '../../gateway/contract/version.ts'
import { BackupError } from '../../gateway/state/backup-error.ts'
import type { Places } from '../../gateway/state/backup-sources.ts'
import { openBackup, refuseProblems } from '../../gateway/state/backup-verify.ts'
import type { Backup } from '../../gateway/state/backup-verify.ts'
import { backupBytes, writeBackup } from '../../gateway/state/backup.ts'
import type { BackupRequest, MadeBackup } from '../../gateway/state/backup.ts'
import { finishRestore, readJournal } from '../../gateway/state/restore-journal.ts'
import { keysImpact, planRestore } from '../../gateway/state/restore-plan.ts'
import type { Change } from '../../gateway/state/restore-plan.ts'
import { restore } from '../../gateway/state/restore.ts'
import type { Restored } from '../../gateway/state/restore.ts'
import { assertStopped, gatewayOver, placesOfRunning, placesOnDisk } from '../backup-places.ts'
import {
  changeWords,
  createdWords,
  isChange,
  planWords,
  presentChanges,
  restoredRow,
} from '../backup-words.ts'
import type { CreatedRow } from '../backup-words.ts'
import { actorOf } from '../connect.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import type { ExitName } from '../exit-codes.ts'
import { addExamples } from '../options.ts'

const CONFIG_TEXT = 'config that says where state is (default: as `ogw serve` finds it)'

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
  const over = await gatewayOver(places.state.dir, context.io)
  if (over === undefined) return { places, gateway: 'stopped' }
  if (over.unsure === undefined) return { places, gateway: 'running' }
  context.say(`warning: the newest seconds may be missing: ${over.unsure}`)
  return { places, gateway: 'stopped' }
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
  if (readJournal(state.dir) === undefined) return
  const what = 'start the gateway, or restore again: either does the rest'
  throw new BackupError('refused', `a restore in ${state.dir} was interrupted: ${what}`)
}

interface RestoreFlags {
  config?: string
  withConfig?: boolean
  dryRun?: boolean
  force?: boolean
}

function restoreCommand(context: CliContext): Command {
  const command = new Command('restore')
    .description('verify a backup, and make the state what it was; the gateway must be stopped')
    .argument('<file>', 'as `ogw backup create` made it')
    .option('--config <file>', CONFIG_TEXT)
    .option('--with-config', 'replace the config too; state then goes where that one says')
    .option('-n, --dry-run', 'verify it, say what would change, and change nothing')
    .option(
      '--force',
      'also what no gateway of this version starts with, or to a folder that may be wrong',
    )
    .action((file: string, flags: RestoreFlags) =>
      worded(() => restoreBackup(context, file, flags)),
    )
  return addExamples(command, [
    ['ogw backup restore FILE --dry-run', 'is it whole, and what would change?'],
    ['ogw backup restore FILE', 'the state alone; the config stays'],
    ['ogw backup restore FILE --with-config --config /etc/ogw/config.json', 'on a new machine'],
  ])
}

async function restoreBackup(
  context: CliContext,
  file: string,
  flags: RestoreFlags,
): Promise<void> {
  const { io } = context
  const { withConfig = false, dryRun = false, force = false } = flags
  if (io.readOnly === true && !dryRun) throw new CliError('refused', 'this console only reads')
  await using backup = await openBackup(path.resolve(file))
  if (!force) refuseProblems(backup)
  const places = targetPlaces(context, backup, flags)
  const { dir } = places.state
  const now = new Date(io.now())
  if (!dryRun) {
    await assertStopped(dir, io, force)
    await finishEarlier(context, dir)
  }
  const changes = await planRestore(backup, places, { withConfig })
  const keys = keysImpact(backup, places, now.getTime())
  const row = restoredRow(backup, changes, { state_dir: dir, dry_run: dryRun, keys, undo: null })
  const view = presentChanges(row)
  planWords(row).forEach((line) => context.say(line))
  if (withConfig) tellConfigProblems(context, backup)
  if (dryRun || !changes.some(isChange)) {
    context.print(row, () => view)
    context.say(changes.some(isChange) ? 'nothing was changed: --dry-run' : 'nothing to change')
    return
  }
  if (!context.options.yes) changeWords(row).forEach((line) => context.say(line))
  await context.confirm(`Restore it over ${dir}?`)
  const restored = await restore({
    backup,
    places,
    changes,
    actor: actorOf(io),
    ogwVersion: VERSION,
    host: hostname(),
    now,
    assertStopped: () => assertStopped(dir, io, force),
    signal: io.interrupted(),
  })
  context.print({ ...row, undo: restored.undo }, () => view)
  restored.warnings.forEach((warning) => context.say(`warning: ${warning}`))
  const started = await gatewayOver(dir, io)
  if (started !== undefined) {
    context.say(`warning: a gateway has started meanwhile (process ${started.pid}): restart it now`)
  }
  context.say(`restored; start the gateway again. To undo: ${undoLine(restored, places, changes)}`)
}

function undoLine(
  { undo, undoNeedsForce }: Restored,
  { config }: Places,
  changes: readonly Change[],
): string {
  const withConfig = changes.some((one) => one.role === 'config' && isChange(one))
  const flags = [
    ...(config === undefined ? [] : ['--config', config]),
    ...(withConfig ? ['--with-config'] : []),
    ...(undoNeedsForce ? ['--force'] : []),
  ]
  return ['ogw backup restore', undo, ...flags].join(' ')
}

/** State goes where the config says that will be in force afterwards. */
function targetPlaces({ io }: CliContext, backup: Backup, flags: RestoreFlags): Places {
  const { config, withConfig = false, force = false } = flags
  const text = withConfig ? backup.text('config') : undefined
  const places = placesOnDisk(io, config, text)
  if (text !== undefined && places.config === undefined) {
    const details = ['say where with --config FILE']
    throw new CliError('usage', 'there is no config file here yet', { details })
  }
  const { host, state_dir: from, config_file } = backup.manifest
  const elsewhere = !existsSync(places.state.dir) && host === hostname() && existsSync(from)
  if (!elsewhere || from === places.state.dir || force) return places
  const message = `state would go to ${places.state.dir}, which does not exist, and the backup is of ${from}, which does: say --config ${config_file ?? 'FILE'}, set STATE_DIRECTORY=${from}, or run this as the user of the gateway; --force restores it there all the same`
  throw new BackupError('refused', message)
}

async function finishEarlier(context: CliContext, dir: string): Promise<void> {
  const earlier = existsSync(dir) ? await finishRestore(dir) : undefined
  if (earlier === undefined) return
  context.say(
    `an earlier restore, of ${earlier.backup}, was interrupted; the rest of it is done now`,
  )
  earlier.warnings.forEach((warning) => context.say(`warning: ${warning}`))
}

/** Only told: variables of the service may be missing in this shell. */
function tellConfigProblems({ io, say }: CliContext, backup: Backup): void {
  const text = backup.text('config')
  const result = text === undefined ? undefined : loadConfig(text, io.env)
  if (result === undefined || result.ok) return
  say('warning: the gateway would not start with this config in the environment of this shell:')
  result.problems.forEach((problem) => say(`  ${problemText(problem)}`))
}

/** `20260501T120000Z`: names in the order of their times. */
function stampOf(now: Date): string {
  return now.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')
}

const EXITS: Readonly<Record<BackupError['kind'], ExitName>> = {
  damaged: 'refused',
  refused: 'refused',
  not_found: 'notFound',
  failed: 'failed',
}

/** Failures of a backup as those of a command. */
async function worded(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof BackupError)) throw error
    throw new CliError(EXITS[error.kind], error.message, { cause: error })
  }
}
