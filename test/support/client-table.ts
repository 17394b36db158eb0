// One table of what each client could do through the gateway, out of the names of the tests that
// ran: `client: feature`. A run of all of them also keeps the table of docs/clients/README.md.

import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** A feature counts in each column that it names, and is plain text where it names none. */
const COLUMNS: [title: string, feature: RegExp][] = [
  ['text', /^$/],
  ['stream', /(?<!not )stream/i],
  ['tools', /\btools\b/i],
  ['structured', /structured/i],
  ['thinking', /think/i],
  ['embeddings', /embed/i],
  ['count tokens', /count_?tokens/i],
  ['lists', /\b(?:list|ps|show|version|models|start|check|root)\b/i],
  ['unload', /unload|^stop\b|keep_alive/i],
  [
    'told why not',
    /\b(?:400|404|429|503|overflow|unknown|missing|refused)\b|^(?:pull|cp|create|rm)\b/i,
  ],
  ['broken stream', /mid-stream|breaks/i],
  ['cancel', /cancel|abort|broken off/i],
  ['30 at once', /30 in parallel/i],
]

/** How a client was tried, by the file that declares its tests. */
const TRIED: [file: RegExp, how: string][] = [
  [/\/unrecorded-clients/, 'from its documentation'],
  [/\/recorded-clients/, 'recorded'],
  [/\/bench-of-clients/, 'the package itself'],
]

interface Row {
  how: string
  columns: Map<string, boolean>
}

export interface ClientTable {
  /** Of each test that ended. Those of other folders are passed over. */
  add(file: string | undefined, name: string, held: boolean): void
  /** Undefined where no client was tried. */
  text(): string | undefined
}

export function clientTable(): ClientTable {
  const clients = new Map<string, Row>()
  return {
    add(file, name, held) {
      const [, client, feature] = /^([\w@.+/ ()-]+?): (.+)$/.exec(name) ?? []
      if (client === undefined || feature === undefined) return
      const how = TRIED.find(([pattern]) => file !== undefined && pattern.test(file))?.[1]
      if (how === undefined || file?.includes('conformance') !== true) return
      const row = clients.get(client) ?? { how, columns: new Map<string, boolean>() }
      clients.set(client, row)
      for (const column of columnsOf(feature)) {
        row.columns.set(column, held && row.columns.get(column) !== false)
      }
    },
    text() {
      if (clients.size === 0) return undefined
      const titles = COLUMNS.map(([title]) => title)
      const rows = [...clients]
        .toSorted(([a], [b]) => a.localeCompare(b, 'en'))
        .map(([client, { how, columns }]) => [
          client,
          how,
          ...titles.map((title) => cell(columns.get(title))),
        ])
      return aligned([['client', 'tried as', ...titles], ...rows])
    },
  }
}

function columnsOf(feature: string): string[] {
  const named = COLUMNS.filter(([, pattern]) => pattern.test(feature)).map(([title]) => title)
  return named.length === 0 ? ['text'] : named
}

function cell(held: boolean | undefined): string {
  if (held === undefined) return ''
  return held ? 'yes' : 'NO'
}

/** Markdown as the formatter leaves it: each column as wide as its widest cell. */
function aligned(rows: readonly string[][]): string {
  const [head = []] = rows
  const widths = head.map((_, at) => Math.max(3, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`
  const lines = rows.map((row) => line(row.map((text, at) => text.padEnd(widths[at] ?? 0))))
  return [lines[0], line(widths.map((width) => '-'.repeat(width))), ...lines.slice(1)].join('\n')
}

const PAGE = path.join(import.meta.dirname, '../../docs/clients/README.md')
const TABLE = /(?<=<!-- written by the tests -->\n\n)[^]*?(?=\n\n<!-- end -->)/

/** Whether the page has the table. `write`: it has it from now on. */
export function keepClientTable(table: string, write: boolean): boolean {
  const page = readFileSync(PAGE, 'utf8')
  if (page.match(TABLE)?.[0] === table) return true
  if (write)
    writeFileSync(
      PAGE,
      page.replace(TABLE, () => table),
    )
  return write
}
