// A real `ogw serve` in a process of its own, with a config and folders that end with it.

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { until } from './until.ts'

/** As an operator starts it; the script becomes the process. */
const OGW = path.join(import.meta.dirname, '..', '..', '..', 'bin', 'ogw')

export interface Serving extends AsyncDisposable {
  url: string
  port: number
  pid: number
  socket: string
  folder: string
  log: { event: string; [field: string]: unknown }[]
  kill(signal: NodeJS.Signals): void
  /** Exit code, once the process has ended. */
  ended: Promise<number | null>
}

/**
 * One worker, `node-1`, unless the config says otherwise. `env` comes on top of this process's; `FOLDER` in
 * it stands for the folder of the gateway.
 */
export async function startServing(
  workerUrl: string,
  config: Record<string, unknown> = {},
  env: Record<string, string> = {},
): Promise<Serving> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ogw-stop-'))
  const file = path.join(folder, 'config.json')
  const socket = path.join(folder, 'admin.sock')
  await writeFile(
    file,
    JSON.stringify({
      listen: '127.0.0.1:0',
      ops_listen: '127.0.0.1:0',
      admin: { socket },
      storage: { dir: path.join(folder, 'state') },
      workers: [{ name: 'node-1', url: workerUrl, max_concurrent: 8 }],
      ...config,
    }),
  )
  const child = spawn(OGW, ['serve', '--config', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...inFolder(env, folder) },
  })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const log = (): Serving['log'] =>
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Serving['log'][number])
  const port = await until(() => portOf(log()), {
    timeoutMs: 20_000,
    what: 'the gateway to listen',
  })
  return {
    port,
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${port}`,
    socket,
    folder,
    get log() {
      return log()
    },
    kill: (signal) => void child.kill(signal),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function portOf(log: Serving['log']): number | undefined {
  const listen = log.find(({ event }) => event === 'gateway.started')?.['listen']
  return typeof listen === 'string' ? Number(listen.split(':').at(-1)) : undefined
}

function inFolder(env: Record<string, string>, folder: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.replace('FOLDER', folder)]),
  )
}
