// The gateway's own log: one JSON line an event, on stderr. An event is a name and facts, never a
// sentence. The only file that knows pino.

import { fstatSync } from 'node:fs'
import { pino } from 'pino'
import { LogLines, stderrFile } from './log-lines.ts'
import { cleanText } from './log-text.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

export interface Log {
  /** How important an event is follows from its name. */
  event(name: string, fields?: LogFields): void
  /** A bug: where it happened, without the values that may stand in its message. */
  bug(name: string, error: unknown, fields?: LogFields): void
  /** For a reload of the config. */
  setLevel(level: LogLevel): void
  /** Writes what is still in memory. Called before the process exits. */
  flush(): void
}

/** Where lines go. `write` gets whole lines. */
export interface LogOutput {
  write(line: string): void
  flushSync?(): void
}

export interface LogOptions {
  level: LogLevel
  /** Default: stderr. */
  output?: LogOutput
  /** journald reads the priority of a line from a prefix such as `<4>`. */
  journal?: boolean
}

type EventLevel = Exclude<LogLevel, 'silent'>

/** Events that are not `info`. */
const LEVELS: Readonly<Record<string, EventLevel>> = {
  'worker.down': 'warn',
  'config.reload_failed': 'warn',
  'proxy.ignored': 'warn',
  'state.broken_lines': 'warn',
  'state.trouble': 'warn',
  'request.cut': 'warn',
  'telemetry.partial': 'warn',
  'trace.export_failed': 'warn',
  'request.bug': 'error',
  'log.sink_failed': 'error',
}

export function createLog({ level, output = stderr(), journal = false }: LogOptions): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    journal ? withPriority(output) : output,
  )

  function write(at: EventLevel, name: string, fields: LogFields): void {
    if (logger.isLevelEnabled(at)) logger[at](cleanFields(name, fields))
  }

  return {
    event: (name, fields = {}) => write(LEVELS[name] ?? 'info', name, fields),
    bug: (name, error, fields = {}) => write('error', name, { ...fields, ...bugFields(error) }),
    setLevel: (next) => void (logger.level = next),
    flush: () => output.flushSync?.(),
  }
}

function stderr(): LogOutput {
  const lines = new LogLines(stderrFile)
  process.once('exit', () => lines.flushSync())
  return lines
}

function cleanFields(event: string, fields: LogFields): LogFields {
  const clean: Record<string, string | number | boolean | undefined> = { event: cleaned(event) }
  for (const name in fields) {
    const value = fields[name]
    clean[name] = typeof value === 'string' ? cleaned(value) : value
  }
  return clean
}

/** Models, workers and paths come again with every request; ids of requests and traces do not, and are harmless. */
const REQUEST_ID = /^[0-9a-f-]{32,36}$/
const REMEMBERED = 2_000
const remembered = new Map<string, string>()

function cleaned(text: string): string {
  if (REQUEST_ID.test(text)) return text
  const known = remembered.get(text)
  if (known !== undefined) return known
  const clean = cleanText(text)
  if (remembered.size >= REMEMBERED) remembered.clear()
  if (text.length <= MAX_REMEMBERED_LENGTH) remembered.set(text, clean)
  return clean
}

const MAX_REMEMBERED_LENGTH = 200

/** Errors whose messages name code. Others, such as that of JSON.parse, quote what was read. */
const NAMES_CODE_ONLY = [TypeError, RangeError, ReferenceError]
/** Frames beyond these are Node's own. */
const MAX_FRAMES = 8

function bugFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: `a ${typeof error} was thrown` }
  const shown = NAMES_CODE_ONLY.some((type) => error instanceof type)
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '))
  return {
    error: shown ? `${error.name}: ${error.message}` : error.name,
    stack: frames
      .slice(0, MAX_FRAMES)
      .map((line) => line.trim())
      .join(' < '),
  }
}

/** syslog's priorities. */
const PRIORITY: ReadonlyMap<number, number> = new Map([
  [20, 7],
  [30, 6],
  [40, 4],
  [50, 3],
])

function withPriority(output: LogOutput): LogOutput {
  const stream = {
    // pino tells the level of each line to a stream that has this mark.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 30,
    write: (line: string) => output.write(`<${PRIORITY.get(stream.lastLevel) ?? 6}>${line}`),
  }
  return stream
}

/** True where stderr itself is the journal, and not only some parent's. */
export function stderrIsJournal(env: Readonly<Record<string, string | undefined>>): boolean {
  const announced = env['JOURNAL_STREAM']
  if (announced === undefined) return false
  const { dev, ino } = fstatSync(2)
  return announced === `${dev}:${ino}`
}
