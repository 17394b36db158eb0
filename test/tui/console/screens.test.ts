// What the other screens do, under real keys.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import type { CommandRunner } from '../../../src/tui/console.ts'
import { startFakeGateway } from '../../support/fake-gateway.ts'
import { startConsole } from '../../support/tty.ts'

test('workers: drain, resume, probe, detail, inventory, cards', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('2')
  console.send('c')
  await console.see(/drains, 1 request still runs · \$ ogw workers drain node-1/)
  await console.see(/node-1 +‖ draining/)
  console.send('c')
  await console.see(/takes requests again/)
  assert.deepEqual(
    gateway.changes().map(({ operation, input }) => [operation, input]),
    [
      ['workers.drain', { workers: ['node-1'], if_revision: 3 }],
      ['workers.resume', { workers: ['node-1'], if_revision: 4 }],
    ],
  )
  console.send('P')
  await console.see(/node-1: answered in 2ms/)
  console.send('\r')
  await console.see(/addresses|the 4090 under the desk/)
  await console.see(/inventory .*read 4s ago/)
  await console.type('\u001b', 'i')
  await console.see(/models installed on node-1/)
  await console.type('\u001b', 't')
  await console.see(/┏━>node-1/)
  await console.type('j', 'l')
  await console.see(/━>node-5/)
})

test('ruleset: a draft says what it would do, and is one edit when it is applied', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('e')
  await console.see(/Workers › node-1 › ruleset/)
  console.send('nsmollm3:*\r')
  await console.see(/1 cell would change/)
  assert.deepEqual(gateway.changes(), [], 'a draft changes nothing')
  await console.type(' ')
  await console.see(/smollm3:\* +allow/)
  await console.type(' ', '\u001b')
  await console.see(/drop the draft for node-1\?/)
  await console.type('\u001b')
  await console.type('\u0013')
  await console.see(/set the rules on node-1 · rev 42/)
  assert.equal(gateway.changes().length, 1)
  await console.see(/2 Workers\]/)
})

test('requests: details with decisions, cancel asks, jump to the model', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('3', '\r')
  await console.see(/request 8f2c[^]*granted to node-1/)
  await console.type('\u001b')
  console.send('c')
  await console.see(/cancel request 8f2c\?/)
  // Typed before the question could be read: it must not answer it.
  console.send('y')
  await console.settled()
  assert.deepEqual(gateway.changes(), [])
  await new Promise((resolve) => setTimeout(resolve, 350))
  console.send('y')
  await console.see(/cancelled 8f2c · \$ ogw requests cancel 8f2c/)
  await console.see(/8f2c +✗ cancel/)
  await console.type('J')
  await console.see(/^> +model-2:70b/m)
})

test('the draft in an editor: it gets one file, and what fails is said', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-editor-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const editor = path.join(folder, 'ed')
  const script = `#!/bin/sh
    echo "$# $1" > ${folder}/args
    [ "$1" = --bad ] && exit 3
    sed -i 's/"allow_all"/"whitelist"/' "$2"\n`
  writeFileSync(editor, script, { mode: 0o755 })
  await using gateway = await startFakeGateway()
  const env = { LANG: 'C.UTF-8', TERM: 'xterm', VISUAL: '' }
  {
    await using console = startConsole(gateway.socket, {
      env: { ...env, EDITOR: `${editor} --wait` },
    })
    await console.see(/● live/)
    await console.type('2', 'e', 'E')
    await console.see(/\(x\) whitelist/)
    assert.equal(readFileSync(path.join(folder, 'args'), 'utf8'), '2 --wait\n')
    console.send('\u001b')
    await console.see(/drop the draft/)
    await new Promise((resolve) => setTimeout(resolve, 350))
    console.send('y')
    await console.miss(/DRAFT/)
  }
  await using console = startConsole(gateway.socket, {
    env: { ...env, EDITOR: `${editor} --bad` },
  })
  await console.see(/● live/)
  await console.type('2', 'e', 'E')
  await console.see(/ed --bad failed: exit code 3/)
})

test('models: load and unload by a menu, pull with progress, explain', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('4', 'L')
  await console.see(/load or unload gemma4:12b/)
  await console.type('2')
  await console.see(/load(?:ed)? gemma4:12b/)
  assert.equal(gateway.changes()[0]?.operation, 'models.load')
  console.send('P')
  await console.see(/pull gemma4:12b/)
  console.send('\r')
  await console.see(/pulled gemma4:12b · \$ ogw models pull gemma4:12b/)
  await console.type('E')
  await console.see(/would run on node-1[^]*loaded \+60/)
  await console.type('\u001b', '\r')
  await console.see(/gemma4:12b[^]*WORKER +DIGEST/)
})

test('events: the audit and the files are asked for, an edit of somebody else is shown before it is undone', async () => {
  await using gateway = await startFakeGateway()
  gateway.editAs('anna@pts/9', 'node-3', { kind: 'deny', pattern: 'smollm3:3b' })
  await using console = startConsole(gateway.socket)
  await console.see(/rev 42/)
  await console.type('6', 'o')
  await console.see(/denied phi4:\* on node-2/)
  await console.type('o')
  await console.see(/model-placement\.json/)
  await console.type('1')
  console.send('u')
  await console.see(/undo "denied smollm3:3b on node-3" by anna@pts\/9\?/)
  await console.see(/then +node-3: the config/)
  await new Promise((resolve) => setTimeout(resolve, 350))
  console.send('y')
  await console.see(/took back "denied smollm3/)
})

test('the palette hands its words to the commands of the CLI, and completes them', async () => {
  const ran: (readonly string[])[] = []
  const commands: CommandRunner = {
    run: async (words) => {
      ran.push(words)
      return words[0] === 'status'
        ? { code: 0, out: 'one\ntwo\n', err: '' }
        : { code: 5, out: '', err: 'error: there is no worker "x"\n' }
    },
    complete: async (words) => (words.at(-1) === 'plac' ? ['placement\tsay which'] : []),
  }
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket, { commands })
  await console.see(/● live/)
  await console.type(':', 'plac', '\t')
  await console.see(/:placement /)
  console.send('allow "gemma4:*" x\r')
  await console.see(/✗ .*there is no worker "x"/)
  console.send(':status\r')
  await console.see(/─ status ─[^]*two/)
  assert.deepEqual(ran, [['placement', 'allow', 'gemma4:*', 'x'], ['status']])
  await console.type('\u001b')
  console.send(':tui\r')
  await console.see(/this is the console already/)
  await console.type(':', '\u001b[A', '\u001b[A')
  await console.see(/:status/)
})

test('help is made from the keys, and filters', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('?')
  await console.see(/Space +toggle the exact exception/)
  await console.type('undo')
  await console.miss(/toggle the exact exception/)
  await console.see(/undo my last change/)
  await console.type('\u001b')
  await console.see(/qwen3|gemma4/)
})

test('space on a family row is refused with its reason; d there makes a prefix rule', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('g', ' ')
  await console.see(/a family has no cell of its own/)
  console.send('a')
  await console.see(/allowed gemma4:\* on node-1/)
  assert.deepEqual(gateway.changes()[0]?.input, {
    pattern: 'gemma4:*',
    workers: ['node-1'],
    if_revision: 41,
  })
})
