// `ogw serve` under something that looks like systemd: a program called systemd-notify notes what
// it is told.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { ROOT } from '../support/write-docs.ts'

test('ready, reloading, ready again, stopping: in this order and with the pid', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-notify-'))
  const told = path.join(folder, 'told')
  const program = path.join(folder, 'systemd-notify')
  writeFileSync(program, `#!/bin/sh\necho "$@" >> "${told}"\n`)
  chmodSync(program, 0o755)
  const config = path.join(folder, 'config.json')
  const listen = { listen: '127.0.0.1:0', ops_listen: null }
  const storage = { dir: path.join(folder, 'state') }
  const admin = { socket: path.join(folder, 'admin.sock') }
  const workers = [{ name: 'w', url: 'http://127.0.0.1:1' }]
  writeFileSync(config, JSON.stringify({ ...listen, storage, admin, workers }))
  const main = path.join(ROOT, 'dist/src/cli/main.js')
  const child = spawn(process.execPath, [main, 'serve', '--config', config], {
    env: {
      ...process.env,
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      NOTIFY_SOCKET: path.join(folder, 'socket'),
    },
    stdio: 'ignore',
  })
  const lines = (): string[] =>
    existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []
  const after = (count: number) =>
    until(() => lines().length >= count, { what: `${count} notes`, timeoutMs: 30_000 })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    await after(1)
    child.kill('SIGHUP')
    await after(3)
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    await after(4)
    assert.deepEqual(
      lines().map((line) => line.split(' ').slice(0, 2)),
      ['READY=1', 'RELOADING=1', 'READY=1', 'STOPPING=1'].map((state) => {
        return [`--pid=${child.pid}`, state]
      }),
    )
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})
