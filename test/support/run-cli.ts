// Runs a real command in process and captures what it says.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import type { CliIo } from '../../src/cli/io.ts'
import { runCli } from '../../src/cli/run.ts'

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

export interface RunOptions {
  socket?: string
  stdin?: string
  /** Stdin as it is asked for, in place of `stdin`. */
  answers?: AsyncIterable<string>
  env?: Record<string, string>
  /** Cells of the terminal; undefined = a pipe. */
  terminal?: number
  now?: number
  interrupt?: AbortSignal
  readOnly?: boolean
  /** Sees stdout as it comes. */
  onStdout?(text: string): void
}

/** The wall clock of every test, so that ages are the same each day. */
export const NOW = Date.parse('2026-05-01T12:00:00Z')

/** A home without contexts, so that a developer's own are never used. */
const HOME = mkdtempSync(path.join(tmpdir(), 'ogw-home-'))

export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const ran: Ran = { code: -1, stdout: '', stderr: '' }
  const { terminal } = options
  const tty = terminal === undefined ? {} : { isTTY: true as const, columns: terminal }
  const io: CliIo = {
    stdin: Object.assign(Readable.from(options.answers ?? [options.stdin ?? []].flat()), {
      ...(terminal !== undefined && { isTTY: true as const }),
    }),
    stdout: {
      ...tty,
      write(data) {
        ran.stdout += String(data)
        options.onStdout?.(String(data))
      },
    },
    stderr: {
      ...tty,
      write(data) {
        ran.stderr += String(data)
      },
    },
    env: {
      PATH: process.env['PATH'],
      HOME,
      USER: 'anna',
      ...(options.socket !== undefined && { OGW_SOCKET: options.socket }),
      ...options.env,
    },
    now: () => options.now ?? NOW,
    interrupted: () => options.interrupt ?? new AbortController().signal,
    ...(options.readOnly !== undefined && { readOnly: options.readOnly }),
  }
  ran.code = await runCli(argv, io)
  return ran
}
