// Simulated workers that are processes of their own, so that they can be stopped, killed and put
// behind a network that fails.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import path from 'node:path'

const MAIN = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')

export interface WorkerProcess extends AsyncDisposable {
  url: string
  pid: number
  /** SIGSTOP: the kernel still completes handshakes, nobody answers, as on a sleeping laptop. */
  freeze(): void
  thaw(): void
}

export interface WorkerProcessOptions {
  args?: readonly string[]
  /** Put before the command, as in `ip netns exec NAME`. */
  within?: readonly string[]
}

export async function startWorkerProcess(
  options: WorkerProcessOptions = {},
): Promise<WorkerProcess> {
  const within = options.within ?? []
  const [command = process.execPath, ...rest] = [
    ...within,
    process.execPath,
    MAIN,
    'simulate-worker',
    ...(options.args ?? []),
  ]
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await firstUrl(child)
  const signal = (name: NodeJS.Signals) => (): void => void child.kill(name)
  return {
    url,
    pid: child.pid ?? 0,
    freeze: signal('SIGSTOP'),
    thaw: signal('SIGCONT'),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await gone
    },
  }
}

function firstUrl(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  child.stdout?.on('data', (data: Buffer) => {
    text += data.toString()
    const url = /"url":"([^"]+)"/.exec(text)?.[1]
    if (url !== undefined) resolve(url)
  })
  child.once('exit', (code) => reject(new Error(`the worker ended with ${code}: ${text}`)))
  child.once('error', reject)
  return promise
}
