// What every command is given: the outer world, the options that hold for all commands, a way to
// print, and (only if it asks) a client of the running gateway.

import type { Command } from 'commander'
import type { AdminClient } from '../gateway/contract/client.ts'
import { connect } from './connect.ts'
import { CliError } from './exit-codes.ts'
import type { CliIo } from './io.ts'
import { createOutput, type Human, type Output } from './output.ts'
import type { Look } from './table.ts'

/** Options that may stand before or after any command. */
export interface GlobalOptions {
  json: boolean
  ascii: boolean
  color: boolean
  yes: boolean
  /** Path of the admin socket, from --socket or OGW_SOCKET. */
  socket: string | undefined
  /** Name of a saved context. */
  context: string | undefined
}

export interface CliContext {
  readonly io: CliIo
  /** Known once the command line has been parsed, that is inside of actions. */
  readonly options: GlobalOptions
  readonly look: Look
  /** A client of the running gateway. The first call connects. */
  admin(): AdminClient
  print(data: unknown, human: Human): void
  printLine(data: unknown, human: Human): void
  say(text: string): void
  /**
   * Asks before something that cannot be undone. Without a terminal nobody can answer, so that
   * --yes is needed there.
   */
  confirm(question: string): Promise<void>
}

const DEFAULTS: GlobalOptions = {
  json: false,
  ascii: false,
  color: true,
  yes: false,
  socket: undefined,
  context: undefined,
}

export interface OpenContext {
  context: CliContext
  /** Takes over the options of a parsed command line. */
  settle(command: Command): void
  /** Ends connections, after the command is over. */
  close(): void
}

export function createContext(io: CliIo): OpenContext {
  let options = DEFAULTS
  let output: Output = createOutput(io, options)
  let client: AdminClient | undefined
  const context: CliContext = {
    io,
    get options() {
      return options
    },
    get look() {
      return output.look
    },
    admin() {
      client ??= connect(io, options)
      return client
    },
    print: (data, human) => output.print(data, human),
    printLine: (data, human) => output.printLine(data, human),
    say: (text) => output.say(text),
    confirm: (question) => confirm(io, options, question),
  }
  return {
    context,
    settle(command) {
      options = { ...DEFAULTS, ...globalOptionsOf(command) }
      output = createOutput(io, options)
    },
    close() {
      const { skew } = client ?? {}
      if (skew !== undefined) output.say(`note: ${skew}`)
      client?.close()
    },
  }
}

function globalOptionsOf(command: Command): Partial<GlobalOptions> {
  const { json, ascii, color, yes, socket, context } = command.optsWithGlobals<GlobalOptions>()
  return { json, ascii, color, yes, socket, context }
}

async function confirm(io: CliIo, options: GlobalOptions, question: string): Promise<void> {
  if (options.yes) return
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
    throw new CliError('usage', `${question} Nobody can answer here: say --yes to do it.`)
  }
  io.stderr.write(`${question} [y/N] `)
  for await (const chunk of io.stdin) {
    if (/^y(es)?$/i.test(String(chunk).trim())) return
    break
  }
  throw new CliError('failed', 'nothing was done')
}
