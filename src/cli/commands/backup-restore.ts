// `ogw backup restore`: verifies a backup, says what it would change, and makes it so.

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
import { finishRestore, isDecided } from '../../gateway/state/restore-journal.ts'
import {
  assertUndoable,
  isChange,
  keysImpact,
  planRestore,
} from '../../gateway/state/restore-plan.ts'
import type { Change } from '../../gateway/state/restore-plan.ts'
import { restore } from '../../gateway/state/restore.ts'
import type { Restored } from '../../gateway/state/restore.ts'
import { worded } from '../backup-failure.ts'
import {
  CONFIG_TEXT,
  assertStopped,
  gatewayOver,
  isSamePlace,
  placesInForce,
  placesOnDisk,
} from '../backup-places.ts'
import { changeWords, planWords, presentChanges, restoredRow } from '../backup-words.ts'
import { actorOf } from '../connect.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import type { CliIo } from '../io.ts'
import { addExamples } from '../options.ts'

interface RestoreFlags {
  config?: string
  withConfig?: boolean
  dryRun?: boolean
  force?: boolean
}

export function restoreCommand(context: CliContext): Command {
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
  const { places, ...target } = await targetOf(context, backup, flags)
  const { dir } = places.state
  const now = new Date(io.now())
  const changes = await planRestore(backup, places, { withConfig })
  if (target.before !== undefined) assertUndoable(changes, target.before, places)
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
    ...(target.before !== undefined && { before: target.before }),
    changes,
    actor: actorOf(io),
    ogwVersion: VERSION,
    host: hostname(),
    now,
    assertStopped: () => target.assertStopped(),
    signal: io.interrupted(),
  })
  context.print({ ...row, undo: restored.undo }, () => view)
  restored.warnings.forEach((warning) => context.say(`warning: ${warning}`))
  await tellOfStart(context, dir)
  const undoNeedsForce = restored.undoNeedsForce || target.undoNeedsForce
  const undo = undoLine({ ...restored, undoNeedsForce }, places, changes)
  context.say(`restored; start the gateway again. To undo: ${undo}`)
}

interface Target {
  places: Places
  /** Where state is until then; undefined = at the same place. */
  before: Places | undefined
  undoNeedsForce: boolean
  assertStopped(): Promise<void>
}

/** Where it goes, once no gateway runs there and no earlier restore is left to be finished. */
async function targetOf(context: CliContext, backup: Backup, flags: RestoreFlags): Promise<Target> {
  const { io } = context
  const { config, dryRun = false, force = false } = flags
  const { state } = targetPlaces(context, backup, flags)
  const dirs = new Set([state.dir, placesInForce(io, config)?.state.dir ?? state.dir])
  const assertAllStopped = async (): Promise<void> => {
    for (const dir of dirs) await assertStopped(dir, context, force)
  }
  if (!dryRun) {
    await assertAllStopped()
    for (const dir of dirs) await finishEarlier(context, dir)
  } else if (isDecided(state.dir)) {
    context.say(`warning: a restore in ${state.dir} was interrupted: it is finished first`)
  }
  // Only now: the config too may have been among what was left.
  const places = targetPlaces(context, backup, flags)
  const inForce = placesInForce(io, config)
  const before = inForce === undefined || isSamePlace(inForce, places) ? undefined : inForce
  const undoNeedsForce = inForce === undefined && flags.withConfig === true && hasConfig(places)
  return { places, before, undoNeedsForce, assertStopped: assertAllStopped }
}

function hasConfig({ config }: Places): boolean {
  return config !== undefined && existsSync(config)
}

async function tellOfStart(context: CliContext, dir: string): Promise<void> {
  const started = await gatewayOver(dir, context)
  if (started === undefined) return
  context.say(`warning: a gateway has started meanwhile (${started.who}): restart it now`)
}

function undoLine(
  { undo, undoNeedsForce }: Restored,
  { config }: Places,
  changes: readonly Change[],
): string {
  const withConfig = changes.some((one) => one.role === 'config' && isChange(one))
  const flags = [
    ...(config === undefined ? [] : ['--config', shellWord(config)]),
    ...(withConfig ? ['--with-config'] : []),
    ...(undoNeedsForce ? ['--force'] : []),
  ]
  return ['ogw backup restore', shellWord(undo), ...flags].join(' ')
}

/** To be pasted: a folder may have a blank in its name. */
function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** State goes where the config says that will be in force afterwards. */
function targetPlaces({ io }: CliContext, backup: Backup, flags: RestoreFlags): Places {
  const { config, withConfig = false, force = false } = flags
  const text = withConfig ? backup.text('config') : undefined
  if (!withConfig && config !== undefined && !existsSync(config)) {
    const details = ['--with-config puts the one of the backup there, as on a new machine']
    throw new CliError('configInvalid', `there is no config ${config}`, { details })
  }
  const places = text === undefined ? placesOnDisk(io, config) : placesOf(io, backup, flags, text)
  if (text !== undefined && places.config === undefined) {
    const details = ['say where with --config FILE']
    throw new CliError('usage', 'there is no config file here yet', { details })
  }
  if (!force) assertNotElsewhere(backup, places)
  return places
}

/** A shell that lacks what the unit says finds another folder, which no gateway would ever read. */
function assertNotElsewhere({ manifest }: Backup, { state: { dir } }: Places): void {
  const { host, state_dir: from, config_file } = manifest
  if (from === dir || host !== hostname() || existsSync(dir) || !existsSync(from)) return
  const message = `state would go to ${dir}, which does not exist, and the backup is of ${from}, which does: say --config ${config_file ?? 'FILE'}, set STATE_DIRECTORY=${from}, or run this as the user of the gateway; --force restores it there all the same`
  throw new BackupError('refused', message)
}

/** A config that is broken says nothing: whoever wants it back all the same keeps state in place. */
function placesOf(io: CliIo, backup: Backup, flags: RestoreFlags, text: string): Places {
  try {
    return placesOnDisk(io, flags.config, text)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    if (flags.force === true) return placesOnDisk(io, flags.config)
    const message = `the config in ${backup.file} does not say where state is; --force puts it back as it was, and state where the present one says`
    throw new CliError(error.exit, message, { details: error.details, cause: error })
  }
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
