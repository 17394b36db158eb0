// Options and help that several commands share.

import { type Command, InvalidArgumentError } from 'commander'

export interface ChangeFlags {
  dryRun?: boolean
  force?: boolean
}

/** --dry-run and --force, as every change of the contract takes them. */
export function addChangeOptions(command: Command, forceText: string): Command {
  return command
    .option('-n, --dry-run', 'say what would change and change nothing')
    .option('--force', forceText)
}

/** The same as fields of an operation's input. */
export function changeFields(flags: ChangeFlags): { dry_run?: boolean; force?: boolean } {
  return {
    ...(flags.dryRun === true && { dry_run: true }),
    ...(flags.force === true && { force: true }),
  }
}

export function addWatchOption(command: Command): Command {
  return command.option('-w, --watch', 'print again after each change, until Ctrl-C')
}

/** Examples at the end of a command's help, one `command   what it does` each. */
export function addExamples(
  command: Command,
  examples: readonly (readonly [string, string])[],
): Command {
  const widest = Math.max(...examples.map(([line]) => line.length))
  const lines = examples.map(([line, what]) => `  ${line.padEnd(widest)}   ${what}`)
  return command.addHelpText('after', ['', 'Examples:', ...lines].join('\n'))
}

/** A whole number from the command line. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Write a whole number.')
  return Number(text)
}

/** Collects a repeatable option. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
