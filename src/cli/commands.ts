// The list of commands. A command line names one; only that one's module is loaded, so that
// `ogw --help` and a script's call start without waiting for the console, the gateway or zod.

import type { Command } from 'commander'
import type { CliContext } from './context.ts'

export interface CommandEntry {
  name: string
  /** One line for `ogw --help`. */
  summary: string
  group: 'Fleet' | 'Run' | 'Look' | 'Keep' | 'Set up'
  /** Not listed: called by ogw itself. */
  hidden?: true
  /** The subcommand that a bare `ogw NAME` means. */
  defaultSubcommand?: string
  load(context: CliContext): Promise<Command>
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'run the gateway',
    group: 'Run',
    load: (context) => later('./commands/serve.ts', 'serveCommand', context),
  },
  {
    name: 'demo',
    summary: 'run the gateway in front of simulated workers',
    group: 'Run',
    load: (context) => later('./commands/demo.ts', 'demoCommand', context),
  },
  {
    name: 'simulate-worker',
    summary: 'run one simulated Ollama',
    group: 'Run',
    load: (context) => later('./commands/simulate-worker.ts', 'simulateWorkerCommand', context),
  },
  {
    name: 'tui',
    summary: 'watch and steer the running gateway in this terminal',
    group: 'Run',
    load: (context) => later('./commands/tui.ts', 'tuiCommand', context),
  },
  {
    name: 'config',
    summary: 'check, show and reload the config',
    group: 'Set up',
    load: (context) => later('./commands/config.ts', 'configCommand', context),
  },
]

type CommandModule = Readonly<Record<string, (io: CliContext['io']) => Command>>

/** A command whose module may be missing from this build: then it says so, and only when called. */
async function later(file: string, name: string, { io }: CliContext): Promise<Command> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked on the next line
  const module = (await import(file)) as CommandModule
  const make = module[name]
  if (make === undefined) throw new TypeError(`${file} has no ${name}`)
  return make(io)
}
