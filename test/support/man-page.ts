// docs/ogw.1, the man page, made from the tree of commands.

import type { Command } from 'commander'
import { EXIT, EXIT_MEANING, type ExitName } from '../../src/cli/exit-codes.ts'
import { buildFullProgram } from '../../src/cli/program.ts'
import { VERSION } from '../../src/gateway/contract/version.ts'
import { silentIo } from './cli-docs.ts'

export async function manPage(): Promise<string> {
  const program = await buildFullProgram(silentIo())
  const codes = (Object.keys(EXIT) as ExitName[]).flatMap((name) => [
    '.TP',
    `.B ${EXIT[name]}`,
    text(EXIT_MEANING[name]),
  ])
  const lines = [
    '.\\" Made from the commands by npm run docs; do not edit.',
    `.TH OGW 1 "" "ogw ${VERSION}" "User Commands"`,
    '.SH NAME',
    'ogw \\- gateway in front of a fleet of Ollama workers, and its console',
    '.SH SYNOPSIS',
    '.B ogw',
    '[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]',
    '.SH DESCRIPTION',
    text(program.description()),
    '.PP',
    'The gateway listens where clients of Ollama, OpenAI and Anthropic can use it, and places each',
    'request on one of its workers. Commands and console reach it over a unix socket.',
    '.SH OPTIONS',
    ...options(program),
    '.SH COMMANDS',
    ...visible(program).flatMap((command) => section(command, 'ogw')),
    '.SH "EXIT STATUS"',
    ...codes,
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, meaning]) => ['.TP', `.B ${name}`, text(meaning)]),
    '.SH FILES',
    ...FILES.flatMap(([name, meaning]) => ['.TP', `.I ${text(name)}`, text(meaning)]),
    '.SH "SEE ALSO"',
    text('docs/operations.md, docs/config.md and docs/metrics.md of the package.'),
  ]
  return `${lines.join('\n')}\n`
}

const ENVIRONMENT = [
  ['OGW_CONFIG', 'Config file of serve and config check.'],
  ['OGW_SOCKET', 'Admin socket of the gateway.'],
  ['OGW_NODE', 'The Node to run with.'],
  ['NO_COLOR', 'No colours.'],
] as const

const FILES = [
  ['/etc/ogw/config.json', 'Config of the service.'],
  ['/var/lib/ogw', 'State of the service.'],
  ['/run/ogw/admin.sock', 'Admin socket of the service.'],
] as const

function section(command: Command, above: string): string[] {
  const name = `${above} ${command.name()}`
  const children = visible(command)
  const own = [
    '.SS',
    `${text(name)} ${text(command.usage())}`,
    text(command.description()),
    ...options(command),
  ]
  return [...own, ...children.flatMap((child) => section(child, name))]
}

function options(command: Command): string[] {
  const help = command.createHelp()
  return help.visibleOptions(command).flatMap((option) => {
    return ['.TP', `.B ${text(option.flags)}`, text(help.optionDescription(option))]
  })
}

function visible(command: Command): Command[] {
  const shown = command.createHelp().visibleCommands(command)
  return command.commands.filter((child) => shown.includes(child) && child.name() !== 'help')
}

/** A line of words: hyphens as they are typed, and no request of roff at its beginning. */
function text(words: string): string {
  const safe = words.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('\n', ' ')
  return /^[.']/.test(safe) ? `\\&${safe}` : safe
}
