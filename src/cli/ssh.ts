// A connection to a gateway behind ssh: `ogw admin-proxy` runs over there and its stdio is the
// connection. Nothing has to be forwarded, and ssh decides who may.

import { spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import type { CliIo } from './io.ts'
import { sshArguments, type Target } from './target.ts'

/** What ssh says (a question, a refusal) goes to the person at stderr. */
export function openSsh(target: Extract<Target, { kind: 'ssh' }>, io: CliIo): Duplex {
  const child = spawn('ssh', sshArguments(target), {
    env: { ...io.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stderr.on('data', (chunk: Buffer) => io.stderr.write(chunk))
  const pair: unknown = { readable: child.stdout, writable: child.stdin }
  // A pair of Node streams is documented for Duplex.from; its types only know web streams.
  const stream = Duplex.from(pair as NodeJS.ReadableStream)
  child.once('error', (error) => stream.destroy(explain(error)))
  child.once('exit', (code, signal) => {
    if (code === 0) return
    stream.destroy(new Error(`ssh to ${target.host} ended with ${signal ?? `code ${code}`}`))
  })
  stream.once('close', () => child.kill())
  return stream
}

function explain(error: NodeJS.ErrnoException): Error {
  if (error.code !== 'ENOENT') return error
  return new Error('there is no ssh command on the PATH', { cause: error })
}
