// One run of the CLI: argv in, exit code out. Nothing here touches the process, so that tests run
// the real commands in process with captured streams.

import { CommanderError } from 'commander'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { detailsOf } from './fault-details.ts'
import type { CliIo } from './io.ts'
import { sanitiseLines } from './output.ts'
import { buildProgram, expandDefault } from './program.ts'

/** Runs `ogw ARGV…` and returns its exit code. Never throws for what a user can cause. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let close = (): void => {}
  try {
    const words = expandDefault(argv)
    const built = await buildProgram(io, words)
    close = built.close
    await built.program.parseAsync(words, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    if (io.interrupted().aborted) return EXIT.interrupted
    report(error, io)
    return exitCodeOf(error)
  } finally {
    close()
  }
}

/** commander has printed its own errors by then. */
function report(error: unknown, io: CliIo): void {
  if (error instanceof CommanderError) return
  // A command that was told to be quiet has no words.
  if (error instanceof Error && error.message === '') return
  const text = error instanceof Error ? error.message : String(error)
  const details = detailsOf(error) ?? stackOf(error, io)
  const lines = [`error: ${text}`, ...details.map((line) => `  ${line}`)]
  io.stderr.write(`${sanitiseLines(lines.join('\n'))}\n`)
}

/** A bug shows where it is, an operational failure does not. */
function stackOf(error: unknown, io: CliIo): string[] {
  if (!(error instanceof Error) || io.env['OGW_DEBUG'] === undefined) return []
  return (error.stack ?? '')
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
}
