// `ogw config`: look at a config without a running gateway. Findings of `check` are its result, so
// --json prints them on stdout also where the config is bad; the exit code tells which it is.

import { Command } from 'commander'
import { effectiveConfig } from '../../gateway/config/effective.ts'
import { configJsonSchema } from '../../gateway/config/known-keys.ts'
import type { LoadedConfig, LoadResult } from '../../gateway/config/load.ts'
import { defaultConfig, findConfigFile, loadConfigFile } from '../../gateway/config/load.ts'
import { problemText } from '../../gateway/config/problem.ts'
import { CliError } from '../exit-codes.ts'
import type { CliIo } from '../io.ts'
import { jsonText, sanitiseLines } from '../output.ts'

type ConfigIo = Pick<CliIo, 'stdout' | 'stderr' | 'env'>

export function configCommand(io: ConfigIo): Command {
  const config = new Command('config').description('check and show the config')

  config
    .command('check')
    .argument('[file]', 'config to check (default: the one that `ogw serve` would use)')
    .description('find everything that is wrong with a config, at once')
    .addHelpText(
      'after',
      '\nExamples:\n  ogw config check\n  ogw config check ./config.json --json\n',
    )
    .action((file: string | undefined, _options: unknown, command: Command) =>
      check(io, file, wantsJson(command)),
    )

  config
    .command('show')
    .option('--config <file>', 'config to show (default: the one that `ogw serve` would use)')
    .description('print the config with every default filled in and secrets masked')
    .addHelpText(
      'after',
      '\nExamples:\n  ogw config show\n  ogw config show --config ./config.json\n',
    )
    .action((options: { config?: string }) => {
      const { loaded } = loadOrFail(io, options.config)
      printJson(io, effectiveConfig(loaded.config, loaded.fromEnv))
    })

  config
    .command('schema')
    .description('print the JSON Schema of config.json, for editors')
    .addHelpText('after', '\nExamples:\n  ogw config schema > config.schema.json\n')
    .action(() => printJson(io, configJsonSchema()))

  return config
}

function check(io: ConfigIo, named: string | undefined, json: boolean): void {
  if (json) {
    const { file, result } = load(io, named)
    const problems = result.ok ? [] : result.problems
    printJson(io, { file, ok: result.ok, problems, warnings: result.warnings })
    if (!result.ok) throw new CliError('configInvalid', summary(file, problems.length))
    return
  }
  const { file, loaded } = loadOrFail(io, named)
  const count = loaded.config.workers.length
  const workers = count === 1 ? '1 worker' : `${count} workers`
  io.stdout.write(sanitiseLines(`${file ?? 'the default config'} is valid, ${workers}`))
  io.stdout.write('\n')
}

interface Source {
  /** Null where there is no file and the defaults hold. */
  file: string | null
}

function load({ env }: ConfigIo, named: string | undefined): Source & { result: LoadResult } {
  const file = named ?? findConfigFile(env)
  if (file === undefined) return { file: null, result: defaultConfig(env) }
  return { file, result: loadConfigFile(file, env) }
}

/** Warnings go to stderr; a bad config is a failure that lists all that is wrong. */
function loadOrFail(io: ConfigIo, named: string | undefined): Source & { loaded: LoadedConfig } {
  const { file, result } = load(io, named)
  for (const warning of result.warnings) {
    io.stderr.write(`${sanitiseLines(`warning: ${problemText(warning)}`)}\n`)
  }
  if (result.ok) return { file, loaded: result }
  const details = result.problems.map(problemText)
  throw new CliError('configInvalid', summary(file, details.length), { details })
}

function summary(file: string | null, problems: number): string {
  const what = problems === 1 ? '1 problem' : `${problems} problems`
  return `${file ?? 'the default config'} has ${what}`
}

/** --json may stand before `config` or after its subcommand. */
function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true
}

function printJson(io: ConfigIo, data: unknown): void {
  io.stdout.write(`${jsonText(data, 2)}\n`)
}
