// The unit of systemd and the Dockerfile, as far as they can be judged without running them.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { durationMs } from '../../src/gateway/config/fields.ts'
import { needsTool } from '../support/needs.ts'
import { ROOT } from '../support/write-docs.ts'

const unit = readFileSync(path.join(ROOT, 'docs/ogw.service'), 'utf8')
const dockerfile = readFileSync(path.join(ROOT, 'docs/Dockerfile'), 'utf8')

/** Of 10, as systemd counts: what GPUs, a network and machine code written at run time need. */
const MOST_EXPOSED = 2.5

/** A root with the units of this machine and the programs that ours names. */
function stagedRoot(): string {
  const root = mkdtempSync(path.join(tmpdir(), 'ogw-stage-'))
  mkdirSync(path.join(root, 'usr/lib/systemd'), { recursive: true })
  cpSync('/lib/systemd/system', path.join(root, 'usr/lib/systemd/system'), { recursive: true })
  for (const program of ['usr/bin/ogw', 'bin/kill']) {
    mkdirSync(path.dirname(path.join(root, program)), { recursive: true })
    writeFileSync(path.join(root, program), '#!/bin/sh\n', { mode: 0o755 })
  }
  mkdirSync(path.join(root, 'etc/systemd/system'), { recursive: true })
  writeFileSync(path.join(root, 'etc/systemd/system/ogw.service'), unit)
  return root
}

test('systemd takes the unit without a word, and finds little that it could do', (t) => {
  if (!needsTool(t, 'systemd-analyze', ['--version'])) return
  const root = stagedRoot()
  try {
    const ask = (verb: string, option: string) =>
      spawnSync('systemd-analyze', [verb, option, `--root=${root}`, 'ogw.service'], {
        encoding: 'utf8',
      })
    const verified = ask('verify', '--man=no')
    assert.equal(verified.stderr + verified.stdout, '')
    assert.equal(verified.status, 0)
    const judged = ask('security', '--offline=yes')
    const exposure = Number(/exposure level for ogw\.service: ([\d.]+)/.exec(judged.stdout)?.[1])
    assert.ok(exposure <= MOST_EXPOSED, String(exposure))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

test('the unit waits longer for the end than a drain takes, and no line has a comment in it', () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
  assert.ok(seconds * 1_000 > (durationMs('5m') ?? Infinity))
  assert.match(unit, /^RestartPreventExitStatus=78$/m)
  assert.match(unit, /^NotifyAccess=all$/m)
  assert.doesNotMatch(unit, /^[^#\n]+#/m)
  // V8 writes machine code.
  assert.doesNotMatch(unit, /MemoryDenyWriteExecute/)
})

test('the image runs as nobody in particular, ends as told, and names its base exactly', () => {
  const froms = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image)
  assert.ok(froms.length === 2 && froms.every((image) => /^node:\d+-slim$/.test(image)))
  assert.match(dockerfile, /^USER 10001:10001$/m)
  assert.match(dockerfile, /^STOPSIGNAL SIGTERM$/m)
  assert.match(dockerfile, /^HEALTHCHECK .*CMD \["ogw", "health"\]$/m)
  // The shell form would be process 1 and pass no signal on.
  for (const [line] of dockerfile.matchAll(/^(?:ENTRYPOINT|CMD) .*$/gm)) {
    assert.match(line, /\[".*"\]$/)
  }
  for (const [, from = ''] of dockerfile.matchAll(/^COPY (?!--from)(\S+)/gm)) {
    const inPackage = ['package.json', 'bin', 'dist']
    assert.ok(inPackage.includes(from), from)
  }
})
