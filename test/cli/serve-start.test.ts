// What `ogw serve` is told while it starts: a signal too early, and its socket on the command line.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import { loadConfigFile } from '../../src/gateway/config/load.ts'
import type { Gateway } from '../../src/gateway/main.ts'
import type { CliIo } from '../../src/cli/io.ts'
import { runGateway } from '../../src/cli/run-gateway.ts'
import { serveCommand } from '../../src/cli/commands/serve.ts'
import { until } from '../support/until.ts'

const quiet = { write: () => true }

const io = (env: CliIo['env']): CliIo => ({
  stdin: process.stdin,
  stdout: quiet,
  stderr: quiet,
  env,
  now: Date.now,
  interrupted: () => new AbortController().signal,
})

function written(folder: string, worker: string): string {
  const file = path.join(folder, 'config.json')
  const config = {
    listen: '127.0.0.1:0',
    ops_listen: null,
    log: { level: 'silent' },
    admin: { socket: path.join(folder, 'configured.sock') },
    storage: { dir: path.join(folder, 'state') },
    workers: [{ name: worker, url: 'http://127.0.0.1:1' }],
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}

// Somebody writes a config and sends SIGHUP to a gateway that is not up yet: it was ended by it.
test('SIGHUP during the start ends nothing, and is a reload once the gateway runs', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-start-'))
  try {
    const loaded = loadConfigFile(written(folder, 'before'), {})
    assert.ok(loaded.ok)
    const file = written(folder, 'after')
    const listening = Promise.withResolvers<Gateway>()
    const ended = runGateway(io({}), { loaded, file, onListening: listening.resolve })
    process.emit('SIGHUP', 'SIGHUP')
    const gateway = await listening.promise
    assert.deepEqual(
      gateway.parts.fleet.workers().map(({ name }) => name),
      ['after'],
    )
    process.emit('SIGTERM', 'SIGTERM')
    await ended
    assert.equal(process.listenerCount('SIGHUP'), 0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

// --socket is over the environment and the config, and is no difference between what runs and
// what the file says.
test('--socket is where the gateway listens, and no drift of its config', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-start-'))
  const socket = path.join(folder, 'flag.sock')
  try {
    const file = written(folder, 'one')
    const env = { OGW_SOCKET: path.join(folder, 'environment.sock') }
    const command = serveCommand(io(env)).option('--socket <path>')
    const ended = command.parseAsync(['--config', file, '--socket', socket], { from: 'user' })
    const client = new AdminClient({ transport: socketTransport([socket]), actor: 'test' })
    await until(() => client.call('status', {}).then(Boolean, () => false), {
      what: 'the gateway to answer there',
    })
    written(folder, 'two')
    assert.deepEqual((await client.call('config.drift', {})).keys, ['workers'])
    const reloaded = await client.call('config.reload', {})
    assert.deepEqual(reloaded.restart_needed, [])
    process.emit('SIGTERM', 'SIGTERM')
    await ended
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
