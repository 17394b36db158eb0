// The npm package, as it is unpacked: what is in it is enough to run, and nothing else is.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { needsTool } from '../support/needs.ts'
import { serveOnce } from '../support/packaged.ts'
import { ROOT } from '../support/write-docs.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'ogw-package-'))
const unpacked = path.join(folder, 'package')

before(() => {
  // Without scripts: `prepack` would compile again under the other tests.
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]
  execFileSync('npm', pack, { cwd: ROOT, stdio: 'pipe' })
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  execFileSync('tar', ['-xzf', path.join(folder, tarball), '-C', folder])
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(unpacked, 'node_modules'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

test('holds what runs and what people need, and no tests', () => {
  for (const wanted of [
    'bin/ogw',
    'bin/node',
    'dist/src/cli/main.js',
    'dist/src/gateway/proxy/parser-thread.js',
    'docs/ogw.1',
    'docs/ogw.service',
    'docs/Dockerfile',
    'docs/operations.md',
    'docs/grafana-dashboard.json',
    'docs/prometheus-alerts.yaml',
    'docs/config.rtx4090.example.json',
    'LICENSE',
  ]) {
    assert.ok(existsSync(path.join(unpacked, wanted)), wanted)
  }
  for (const other of ['src', 'test', 'dist/test', 'build', '.ci']) {
    assert.ok(!existsSync(path.join(unpacked, other)), other)
  }
})

test('its command helps, from a link in another folder', () => {
  const link = path.join(folder, 'ogw')
  symlinkSync(path.join(unpacked, 'bin/ogw'), link)
  const help = execFileSync(link, ['--help'], { cwd: folder, encoding: 'utf8' })
  assert.match(help, /^Usage: ogw /)
})

test('it serves from where it was unpacked', async () => {
  const command = path.join(unpacked, 'bin/ogw')
  const env = { PATH: process.env['PATH'], HOME: folder }
  await serveOnce({ folder, seenAs: folder, command, args: [], env })
})

test('the man page is read without a complaint', (t) => {
  if (!needsTool(t, 'groff')) return
  const page = path.join(ROOT, 'docs/ogw.1')
  const format = ['-man', '-Tutf8', '-ww', '-P-cbou', page]
  const text = execFileSync('groff', format, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  assert.match(text, /ogw workers/)
})
