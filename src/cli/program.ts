// The tree of commands, of which only the one that a command line names is really loaded.

import { Command } from 'commander'
import { VERSION } from '../gateway/contract/version.ts'
import { COMMANDS, type CommandEntry } from './commands.ts'
import { createContext, type OpenContext } from './context.ts'
import type { CliIo } from './io.ts'
import { addExamples } from './options.ts'
import { lookOf, sanitiseLines } from './output.ts'

export interface BuiltProgram {
  program: Command
  /** Ends the connections of the command. */
  close(): void
}

/** The program with one real command, that of argv, and a line of help for each other. */
export async function buildProgram(io: CliIo, argv: readonly string[]): Promise<BuiltProgram> {
  const open = createContext(io)
  const program = createProgram(open)
  const wanted = entryOf(argv)
  const command = wanted && (await wanted.load(open.context))
  for (const entry of COMMANDS) {
    attach(program, entry, command !== undefined && entry === wanted ? command : undefined)
  }
  return { program, close: () => open.close() }
}

/** The program with every command loaded, to generate docs from. */
export async function buildFullProgram(io: CliIo): Promise<Command> {
  const open = createContext(io)
  const program = createProgram(open)
  const commands = await Promise.all(COMMANDS.map((entry) => entry.load(open.context)))
  for (const [index, entry] of COMMANDS.entries()) attach(program, entry, commands[index])
  return program
}

function createProgram(open: OpenContext): Command {
  const { io } = open.context
  const program = new Command('ogw')
    .description('A gateway in front of a fleet of Ollama workers, and the console to run it.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .option('--json', 'print JSON, for scripts')
    .option('--socket <path>', 'admin socket of the gateway (default: OGW_SOCKET)')
    .option('--context <name>', 'a gateway saved with `ogw context add`')
    .option('-y, --yes', 'answer yes to every question')
    .option('--ascii', 'letters in place of signs')
    .option('--no-color', 'no colours, as with NO_COLOR')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(sanitiseLines(text)),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
      getOutHasColors: () => lookOf(io.stdout, io.env, { ascii: false, color: true }).color,
      getErrHasColors: () => lookOf(io.stderr, io.env, { ascii: false, color: true }).color,
    })
    .showHelpAfterError('(ogw --help lists the commands)')
    .exitOverride()
  addExamples(program, PROGRAM_EXAMPLES)
  program.hook('preAction', (_program, action) => open.settle(action))
  return program
}

const PROGRAM_EXAMPLES = [
  ['ogw status', 'the fleet at a glance'],
  ['ogw placement allow qwen3:8b node-2', 'let a model run on a worker'],
  ['ogw placement deny "gemma4:*" node-1 --dry-run', 'what would change'],
  ["ogw workers list --json | jq -r '.[].name'", 'for scripts'],
] as const

function attach(program: Command, entry: CommandEntry, loaded: Command | undefined): void {
  const command = loaded ?? new Command(entry.name)
  if (command.description() === '') command.description(entry.summary)
  command.summary(entry.summary).helpGroup(`${entry.group}:`)
  inherit(command, program)
  program.addCommand(command, { hidden: entry.hidden ?? false })
}

/** Commands come from modules of their own; settings pass on only to those made by their parent. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent)
  for (const child of command.commands) inherit(child, command)
}

const OPTIONS_WITH_VALUE = new Set(['--socket', '--context'])

/** Where the command's name stands in argv, or -1. */
function commandIndex(argv: readonly string[]): number {
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? ''
    if (word === '--') return -1
    if (OPTIONS_WITH_VALUE.has(word)) index += 1
    else if (!word.startsWith('-') && word !== 'help') return index
  }
  return -1
}

function entryOf(argv: readonly string[]): CommandEntry | undefined {
  const name = argv[commandIndex(argv)]
  return COMMANDS.find((entry) => entry.name === name)
}

/** `ogw workers` means `ogw workers list`; `ogw workers --help` is help on all of it. */
export function expandDefault(argv: readonly string[]): string[] {
  const subcommand = entryOf(argv)?.defaultSubcommand
  if (subcommand === undefined || argv.includes('help')) return [...argv]
  const at = commandIndex(argv) + 1
  const rest = argv.slice(at)
  const asksHelp = rest.some((word) => word === '-h' || word === '--help')
  if (asksHelp || (rest[0] !== undefined && !rest[0].startsWith('-'))) return [...argv]
  return [...argv.slice(0, at), subcommand, ...rest]
}
