// The outer world of one run of the CLI: its streams, its environment, and the signal that somebody
// pressed Ctrl-C. `main.ts` gives the real ones, tests give captured ones.

import type { Readable, Writable } from 'node:stream'

/** `columns` is the width of the terminal in cells. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number }

export type InputStream = Readable & { readonly isTTY?: boolean }

export interface CliIo {
  stdin: InputStream
  stdout: OutputStream
  stderr: OutputStream
  env: Readonly<Record<string, string | undefined>>
  /** Wall clock in milliseconds; ages are counted from it. */
  now(): number
  /** Aborts on Ctrl-C. From its first use on, the command itself has to end. */
  interrupted(): AbortSignal
}
