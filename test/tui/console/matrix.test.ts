// The matrix under real keys, in front of a gateway whose rules decide the cells.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFakeGateway } from '../../support/fake-gateway.ts'
import { startConsole } from '../../support/tty.ts'
import { until } from '../../support/until.ts'

const cursorRow = (lines: readonly string[]): string =>
  lines.find((line) => line.startsWith('>')) ?? ''

test('Space denies, the message names undo and the CLI twin, undo restores', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  console.send('/qwen3:8b\r')
  await console.see(/1 of 61/)
  await console.type('l')
  console.send(' ')
  const lines = await console.see(/denied qwen3:8b on node-2/)
  assert.match(
    lines.join('\n'),
    /denied qwen3:8b on node-2 · rev 42 · u undo · \$ ogw placement deny qwen3:8b/,
  )
  const [change] = gateway.changes()
  assert.deepEqual(change?.input, {
    cells: [{ model: 'qwen3:8b', worker: 'node-2' }],
    if_revision: 41,
  })
  // It is loaded there: blocked all the same, and said so.
  assert.match(cursorRow(await console.see(/\[✗!\]/)), /\[✗!\]/)

  console.send('u')
  await console.see(/took back/)
  assert.match(cursorRow(await console.see(/\[●\]/)), /\[●\]/)
})

test('a held key that arrives as one event moves three rows', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/>.*gemma4:12b/)
  console.send('jjj')
  await console.see(/^>▸ llama4:\*/m)
})

test('a paste on the matrix changes nothing', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  console.send('\u001b[200~dddx \nq\n\u001b[201~')
  await console.see(/a paste is only taken where text is typed/)
  assert.deepEqual(gateway.changes(), [])
})

// Ctrl and Alt arrive as the bare letter with a flag beside it.
test('Ctrl-D scrolls and Alt-D does nothing: neither denies', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.type('\u0004', '\u001bd')
  assert.deepEqual(
    gateway.asked.filter(({ operation }) => operation.startsWith('placement.')),
    [],
  )
})

test('a change that leaves a model without a worker is asked for, and Cancel has the focus', async () => {
  await using gateway = await startFakeGateway()
  const alone = (model: string): void =>
    gateway.set((before) => ({
      ...before,
      models: before.models.map((row) =>
        row.model === model
          ? {
              ...row,
              cells: row.cells.map((cell, index) =>
                index === 0
                  ? { ...cell, state: 'installed' as const, presence: 'installed' as const }
                  : { ...cell, state: 'allowed' as const, presence: 'absent' as const },
              ),
            }
          : row,
      ),
    }))
  alone('qwen3:8b')
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  console.send('/qwen3:8b\r')
  await console.see(/1 of 61/)
  console.send('d')
  await console.see(/no worker that has qwen3:8b may run it/)
  await console.see(/\[ Cancel \]/)
  console.send('\r')
  await console.see(/no worker that has/)
  await new Promise((resolve) => setTimeout(resolve, 350))
  console.send('\r')
  await console.see(/nothing was changed/)
  assert.deepEqual(gateway.changes(), [])

  console.send('d')
  await console.see(/no worker that has/)
  await new Promise((resolve) => setTimeout(resolve, 350))
  console.send('y')
  await console.see(/denied qwen3:8b on node-1/)
  assert.partialDeepStrictEqual(gateway.changes()[0]?.input, { force: true })
})

test('three cells toggled at once are three edits in a row, each after the one before', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/>.*gemma4:12b/)
  console.send(' l l ')
  await until(() => gateway.changes().length === 3, { what: 'three changes' })
  await console.see(/rev 44/)
  assert.deepEqual(
    gateway.changes().map(({ input }) => (input as { if_revision: number }).if_revision),
    [41, 42, 43],
  )
})

test('an edit by somebody else is a conflict that says who did what', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/>.*gemma4:12b/)
  await console.type('p')
  gateway.editAs('anna@pts/9', 'node-1', { kind: 'deny', pattern: 'phi4:*' })
  console.send(' ')
  await console.see(/not applied: .*anna@pts\/9/)
  assert.equal(gateway.snapshot.placement.revision, 42)
})

test('marked cells are one edit', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/>.*gemma4:12b/)
  console.send('vjlla')
  await console.see(/rev 42/)
  assert.equal(gateway.changes().length, 1)
})

test('the cursor follows its model when rows come and go', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/>.*gemma4:12b/)
  await console.type('j')
  await console.see(/>.*gemma4:27b/)
  gateway.set((before) => ({
    ...before,
    models: before.models.filter(({ model }) => model !== 'gemma4:12b'),
  }))
  await console.miss(/gemma4:12b/)
  await console.see(/^>.*gemma4:27b/m)
})
