// docs/cli.md, made from the tree of commands: what `--help` says, and the exit codes.

import type { Command } from 'commander'
import { EXIT, EXIT_MEANING, type ExitName } from '../../src/cli/exit-codes.ts'
import type { CliIo } from '../../src/cli/io.ts'
import { buildFullProgram } from '../../src/cli/program.ts'

const INTRO = `# The command line

Made from the commands by \`npm run docs\`; do not edit.

Data goes to stdout, words go to stderr; a failure leaves stdout empty. Tables have upper-case headers and
are cut only to fit a terminal, never in a pipe. \`--json\` prints the document of the admin contract
(docs/admin-api.md): a list is a bare array, and with \`--watch\` or \`-f\` each line is one document.
Control characters of foreign names are shown as \`\\u001b\`.

Colours: on a terminal only; \`NO_COLOR\` and \`--no-color\` switch them off, \`FORCE_COLOR\` switches them on elsewhere,
\`TERM=dumb\` has none. The gateway is found by \`--socket\`, \`--context\`, \`OGW_SOCKET\`, the context in use
(\`ogw context use\`), and then where \`ogw serve\` listens by default.
`

export async function cliDocs(): Promise<string> {
  const program = await buildFullProgram(silentIo())
  const parts = [INTRO, exitCodes(), '## ogw\n', block(program)]
  for (const command of visible(program)) parts.push(...section(command, `ogw ${command.name()}`))
  return `${parts.join('\n').trimEnd()}\n`
}

function exitCodes(): string {
  const rows = (Object.keys(EXIT) as ExitName[]).map(
    (name) => `| ${EXIT[name]} | ${EXIT_MEANING[name]} |`,
  )
  return [
    '## Exit codes\n',
    'A code that a script does not know is a failure.\n',
    '| code | meaning |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n')
}

function section(command: Command, name: string): string[] {
  const children = visible(command).flatMap((child) => section(child, `${name} ${child.name()}`))
  return [`## ${name}\n`, block(command), ...children]
}

function visible(command: Command): Command[] {
  const shown = command.createHelp().visibleCommands(command)
  return command.commands.filter((child) => shown.includes(child))
}

/** The help of one command, without the options that all commands share. */
function block(command: Command): string {
  let help = ''
  const isProgram = command.parent === null
  command.configureHelp({ showGlobalOptions: isProgram })
  command.configureOutput({ writeOut: (text) => (help += text) })
  command.outputHelp()
  return `\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`
}

const WIDTH = 100

export function silentIo(): CliIo {
  const stream = { write: () => {}, columns: WIDTH }
  return {
    stdin: (async function* () {})(),
    stdout: stream,
    stderr: stream,
    env: {},
    now: () => 0,
    interrupted: () => new AbortController().signal,
  }
}
