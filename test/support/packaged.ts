// Runs a packaged ogw in front of a simulated worker and asks it for an answer.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** Larger than what is parsed on the loop: the parser thread has to work too. */
const LARGE = 1_500_000

export interface Packaged {
  /** Where the config is written, as this process sees it. */
  folder: string
  /** The same folder as the program sees it. */
  seenAs: string
  command: string
  args: readonly string[]
  env?: NodeJS.ProcessEnv
}

/** Serves, answers a small and a large request, and ends at SIGTERM with 0. */
export async function serveOnce({ folder, seenAs, command, args, env }: Packaged): Promise<void> {
  await using worker = await startSimulatedWorker({ models: ['qwen3:8b'] })
  const port = await freePort()
  const config = {
    listen: `127.0.0.1:${port}`,
    ops_listen: null,
    admin: { socket: path.join(seenAs, 'admin.sock') },
    storage: { dir: path.join(seenAs, 'state') },
    workers: [{ name: 'node-1', url: worker.url }],
  }
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify(config))
  const serve = [...args, 'serve', '--config', path.join(seenAs, 'config.json')]
  const child = spawn(command, serve, { stdio: ['ignore', 'ignore', 'pipe'], env: env ?? {} })
  let said = ''
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    const ask = async (content: string): Promise<number> => {
      const body = { model: 'qwen3:8b', stream: false, messages: [{ role: 'user', content }] }
      const url = `http://127.0.0.1:${port}/api/chat`
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
      await answer.arrayBuffer()
      return answer.status
    }
    await until(async () => (await ask('hello')) === 200, {
      what: `an answer of ${command}`,
      timeoutMs: 60_000,
      intervalMs: 50,
    }).catch((cause: unknown) => assert.fail(`${String(cause)}\n${said}`))
    const large = await ask(`${'x '.repeat(LARGE / 2)}`)
    assert.ok(large === 200 || large === 400, `${large}: ${said}`)
    assert.doesNotMatch(said, /request\.bug/)
    child.kill('SIGTERM')
    assert.equal(await ended, 0, said)
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}
