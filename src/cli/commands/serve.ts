// `ogw serve`: the gateway in the foreground, until it is told to end.

import { Command } from 'commander'
import { defaultConfig, findConfigFile, loadConfigFile } from '../../gateway/config/load.ts'
import type { LoadedConfig } from '../../gateway/config/load.ts'
import { problemText } from '../../gateway/config/problem.ts'
import { storagePaths } from '../../gateway/config/storage-paths.ts'
import { finishRestore } from '../../gateway/state/restore-journal.ts'
import { CliError } from '../exit-codes.ts'
import type { CliIo } from '../io.ts'
import { runGateway, startFailure } from '../run-gateway.ts'

export function serveCommand(io: CliIo): Command {
  return new Command('serve')
    .description('run the gateway until SIGTERM or Ctrl-C; a second one ends it at once')
    .option('--config <file>', 'config to run with (default: OGW_CONFIG, then the usual places)')
    .action(async ({ config }: { config?: string }, command: Command) => {
      const { socket } = command.optsWithGlobals<{ socket?: string }>()
      const file = config ?? findConfigFile(io.env)
      const first = load(io, file)
      // The config too may be among what is left to do.
      const loaded = (await finishedRestore(io, first)) ? load(io, file) : first
      await runGateway(withSocket(io, socket), { loaded, file })
    })
    .addHelpText(
      'after',
      `
Examples:
  ogw serve                          one worker at OLLAMA_HOST or 127.0.0.1:11434
  ogw serve --config fleet.json      a fleet
  ogw config check fleet.json        every problem of a config at once
`,
    )
}

/** Every problem at once on stderr, exit 78: a supervisor need not try again. */
function load(io: CliIo, file: string | undefined): LoadedConfig {
  const result = file === undefined ? defaultConfig(io.env) : loadConfigFile(file, io.env)
  for (const warning of result.warnings) io.stderr.write(`warning: ${problemText(warning)}\n`)
  if (result.ok) return result
  throw new CliError('badConfigOrState', `the config ${file ?? ''} is invalid`, {
    details: result.problems.map(problemText),
  })
}

/** A restore that was interrupted is finished before anything of the state is read. */
async function finishedRestore(io: CliIo, { config }: LoadedConfig): Promise<boolean> {
  try {
    const journal = await finishRestore(storagePaths(config, io.env).dir)
    if (journal === undefined) return false
    const { backup, undo, warnings } = journal
    io.stderr.write(
      `note: the restore of ${backup} was interrupted, and is finished now; ${undo} has what was before\n`,
    )
    for (const warning of warnings) io.stderr.write(`warning: ${warning}\n`)
    return true
  } catch (error) {
    throw startFailure(error)
  }
}

/** As the environment names it: over the config, which a reload compares with its file. */
function withSocket(io: CliIo, socket: string | undefined): CliIo {
  return socket === undefined ? io : { ...io, env: { ...io.env, OGW_SOCKET: socket } }
}
