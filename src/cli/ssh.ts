// A connection to a gateway behind ssh: `ogw admin-proxy` runs over there and its stdio is the
// connection. Nothing has to be forwarded, and ssh decides who may.

import { spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import type { CliIo } from './io.ts'
import { sshArguments, type Target } from './target.ts'

/** What ssh says (a question, a refusal) goes to the person at stderr. */
export function openSsh(target: Extract<Target, { kind: 'ssh' }>, io: CliIo): Duplex {
  const child = spawn('ssh', sshArguments(target), { env: { ...io.env }, stdio: 'pipe' })
  const stream = new Duplex({
    read: () => void child.stdout.resume(),
    write: (chunk: Buffer, _encoding, done) => void child.stdin.write(chunk, () => done()),
    final: (done) => void child.stdin.end(() => done()),
    destroy(error, done) {
      child.kill()
      done(error)
    },
  })
  child.stdin.on('error', () => {
    // ssh has ended: `close` below tells why.
  })
  child.stderr.on('data', (chunk: Buffer) => io.stderr.write(chunk))
  child.stdout.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) child.stdout.pause()
  })
  child.once('error', (error) => stream.destroy(explain(error)))
  // `close` comes after the last word of stderr, which is then said before the failure.
  child.once('close', (code, signal) => {
    if (code === 0) stream.push(null)
    else stream.destroy(new Error(`ssh to ${target.host} ended with ${signal ?? `code ${code}`}`))
  })
  return stream
}

function explain(error: NodeJS.ErrnoException): Error {
  if (error.code !== 'ENOENT') return error
  return new Error('there is no ssh command on the PATH', { cause: error })
}
