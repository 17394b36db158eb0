// What a command says: data on stdout, words on stderr. A table or a sentence for people, or with
// --json exactly the document of the admin contract.

import type { TableView } from '../tui/present/cell.ts'
import { sanitise, sanitiseJson } from '../tui/present/text.ts'
import type { CliIo, OutputStream } from './io.ts'
import { type Look, renderTable } from './table.ts'

export interface OutputOptions {
  json: boolean
  ascii: boolean
  /** False with --no-color. */
  color: boolean
}

/** What a person reads: a table, or text whose foreign parts are sanitised by who wrote it. */
export type Human = (look: Look) => string | TableView

export interface Output {
  readonly options: OutputOptions
  readonly look: Look
  /** The result of a command. */
  print(data: unknown, human: Human): void
  /** One of many results that follow each other: with --json, one document a line. */
  printLine(data: unknown, human: Human): void
  /** Words for the person at the terminal. */
  say(text: string): void
}

export function createOutput(io: CliIo, options: OutputOptions): Output {
  const look = lookOf(io.stdout, io.env, options)
  const human = (show: Human): string => {
    const shown = show(look)
    if (typeof shown !== 'string') return renderTable(shown, look)
    return shown === '' || shown.endsWith('\n') ? shown : `${shown}\n`
  }
  return {
    options,
    look,
    print(data, show) {
      io.stdout.write(options.json ? `${jsonText(data, 2)}\n` : human(show))
    },
    printLine(data, show) {
      io.stdout.write(options.json ? `${jsonText(data)}\n` : human(show))
    },
    say(text) {
      io.stderr.write(`${sanitiseLines(text)}\n`)
    },
  }
}

/** JSON that a terminal survives: what could steer it is escaped, the value is the same. */
export function jsonText(data: unknown, indent?: number): string {
  return sanitiseJson(JSON.stringify(data ?? null, undefined, indent))
}

/** Sanitises text of several lines; only the line feeds stay. */
export function sanitiseLines(text: string): string {
  return text.split('\n').map(sanitise).join('\n')
}

/** NO_COLOR and --no-color beat FORCE_COLOR, which beats a dumb terminal or none. */
export function lookOf(
  stream: OutputStream,
  env: CliIo['env'],
  options: Pick<OutputOptions, 'ascii' | 'color'>,
): Look {
  const isTTY = stream.isTTY === true
  const forced = !['', '0', 'false', undefined].includes(env['FORCE_COLOR'])
  const refused = !options.color || (env['NO_COLOR'] ?? '') !== '' || env['FORCE_COLOR'] === '0'
  return {
    color: !refused && (forced || (isTTY && env['TERM'] !== 'dumb')),
    ascii: options.ascii,
    columns: isTTY ? (stream.columns ?? 80) : undefined,
  }
}
