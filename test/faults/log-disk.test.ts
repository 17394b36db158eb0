// The log of a gateway goes to a disk that is full. The lines are lost; the gateway serves, and ends
// when it is told to.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { freePort } from '../support/free-port.ts'
import { chatBody } from '../support/sim-client.ts'
import { until } from '../support/until.ts'
import { ROOT } from '../support/write-docs.ts'

test('a full disk under the log stops nothing', async (t) => {
  if (!existsSync('/dev/full')) {
    t.skip('this system has no /dev/full')
    return
  }
  await using sim = await startSimulatedWorker({ models: ['alpha:8b'], tokens: 3, tokenMs: 1 })
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-full-'))
  const port = await freePort()
  const file = path.join(folder, 'config.json')
  const config = {
    listen: `127.0.0.1:${port}`,
    ops_listen: null,
    admin: { socket: path.join(folder, 'admin.sock') },
    storage: { dir: path.join(folder, 'state') },
    workers: [{ name: 'node-1', url: sim.url }],
  }
  writeFileSync(file, JSON.stringify(config))
  const child = spawn(path.join(ROOT, 'bin/ogw'), ['serve', '--config', file], {
    stdio: ['ignore', 'ignore', openSync('/dev/full', 'w')],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    const chat = async (): Promise<string> => {
      const body = JSON.stringify(chatBody('alpha:8b'))
      const signal = AbortSignal.timeout(5_000)
      const answer = await fetch(`http://127.0.0.1:${port}/api/chat`, {
        method: 'POST',
        body,
        signal,
      })
      return answer.text()
    }
    await until(chat, { timeoutMs: 20_000, what: 'the first answer' })
    // Their lines fill several writes, of which each one fails.
    for (let round = 0; round < 200; round += 1) assert.match(await chat(), /"done":true/)
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})
