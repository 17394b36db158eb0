// The outer world of one run of the CLI: its streams, its environment, and the signal that somebody
// pressed Ctrl-C. `main.ts` gives the real ones, tests give captured ones.

export interface OutputStream {
  write(data: string | Uint8Array): unknown
  readonly isTTY?: boolean
  /** Width of the terminal in cells. */
  readonly columns?: number
}

export interface InputStream extends AsyncIterable<Buffer | string> {
  readonly isTTY?: boolean
  /** Stops reading, so that the process may end although more could come. */
  destroy?(): unknown
}

export interface CliIo {
  stdin: InputStream
  stdout: OutputStream
  stderr: OutputStream
  env: Readonly<Record<string, string | undefined>>
  /** Wall clock in milliseconds; ages are counted from it. */
  now(): number
  /** Aborts on Ctrl-C. From its first use on, the command itself has to end. */
  interrupted(): AbortSignal
  /** Commands may look at the gateway and change nothing: those of a console with --read-only. */
  readOnly?: boolean
}
