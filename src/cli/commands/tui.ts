// `ogw tui`: the console. It is given a client of the gateway and the commands of this CLI, and
// knows neither sockets nor command lines itself.

import { Command } from 'commander'
import type { CliContext, GlobalOptions } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import type { CliIo } from '../io.ts'
import { addExamples } from '../options.ts'

interface TuiFlags {
  readOnly?: boolean
  screenReader?: boolean
  resetTerminal?: boolean
}

export function tuiCommand(context: CliContext): Command {
  const tui = new Command('tui')
    .description('watch and steer the running gateway in this terminal')
    .option('--read-only', 'show everything, change nothing')
    .option('--screen-reader', 'words in lines, nothing moves by itself')
    .option('--reset-terminal', 'repair a terminal that a killed console left behind')
    .action((flags: TuiFlags) => runTui(context, flags))
  return addExamples(tui, [
    ['ogw tui', 'q or Ctrl-C leaves; the gateway keeps serving'],
    ['ogw tui --read-only', 'to look without touching'],
    ['ogw tui --context box', 'a gateway on another machine'],
    ['ogw tui --ascii', 'where the terminal lacks the signs'],
  ])
}

async function runTui(context: CliContext, flags: TuiFlags): Promise<void> {
  const { io, options } = context
  const console = await import('../../tui/main.tsx')
  const { stdin, stdout, stderr } = process
  if (flags.resetTerminal === true) {
    console.resetTerminal(stdout)
    return
  }
  const refusal = console.consoleRefusal({ env: io.env, stdin, stdout })
  if (refusal !== undefined) throw new CliError('usage', refusal)
  try {
    await console.runConsole({
      stdin,
      stdout,
      stderr,
      env: io.env,
      admin: context.admin(),
      commands: commandsOf({ ...io, readOnly: flags.readOnly === true }, options),
      readOnly: flags.readOnly === true,
      ascii: options.ascii,
      color: options.color,
      screenReader: flags.screenReader === true,
    })
  } catch (error) {
    // The console's own screen is gone by now: a bug shows where it is.
    stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    throw new CliError('failed', '', { cause: error })
  }
}

/** The palette runs the commands of this program, against the same gateway. */
function commandsOf(io: CliIo, { socket, context }: GlobalOptions) {
  const where = [
    ...(socket === undefined ? [] : ['--socket', socket]),
    ...(context === undefined ? [] : ['--context', context]),
  ]
  return {
    run: (words: readonly string[], signal: AbortSignal) =>
      capture(io, [...where, ...words], signal),
    async complete(words: readonly string[]) {
      const { signal } = new AbortController()
      const { out } = await capture(io, ['__complete', '--', ...where, ...words], signal)
      return out.split('\n').filter((line) => line !== '')
    },
  }
}

async function capture(io: CliIo, words: readonly string[], signal: AbortSignal) {
  const { runCli } = await import('../run.ts')
  let out = ''
  let err = ''
  const code = await runCli(words, {
    ...io,
    stdin: nothing(),
    stdout: { write: (text) => (out += String(text)) },
    stderr: { write: (text) => (err += String(text)) },
    interrupted: () => signal,
  })
  return { code, out, err }
}

/** The keys belong to the console: a command that would ask finds nobody. */
async function* nothing(): AsyncGenerator<string, void, undefined> {}
