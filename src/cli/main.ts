// The `ogw` command: gives one run of the CLI the real process. What a command needs is loaded when
// it is known which command it is.

import { enableCompileCache } from 'node:module'
import type { CliIo } from './io.ts'

// Compiled code is kept between runs, so that a command starts in a fraction of the time.
enableCompileCache()

// A reader that has seen enough (`ogw events -f | head -1`) is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    // A full disk behind `ogw backup create - > FILE` is no bug, and half a file is no success.
    if (stream === process.stdout) {
      process.stderr.write(`error: stdout cannot be written: ${error.message}\n`)
    }
    process.exit(1)
  })
}

let interruption: AbortController | undefined

const io: CliIo = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  now: Date.now,
  interrupted() {
    if (interruption === undefined) {
      const controller = new AbortController()
      interruption = controller
      process.once('SIGINT', () => controller.abort())
    }
    return interruption.signal
  },
}

const { runCli } = await import('./run.ts')
process.exitCode = await runCli(process.argv.slice(2), io)
