import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogLines } from '../../../src/gateway/observe/log-lines.ts'
import type { LineFile } from '../../../src/gateway/observe/log-lines.ts'
import { until } from '../../support/until.ts'

interface FakeFile extends LineFile {
  text(): string
  /** Errors of the next writes, in order; a number takes so many bytes and no more. */
  script: (string | number)[]
}

function fakeFile(...script: (string | number)[]): FakeFile {
  let text = ''
  const file: FakeFile = {
    script,
    text: () => text,
    writeSync(bytes) {
      const step = file.script.shift()
      if (typeof step === 'string') throw Object.assign(new Error(step), { code: step })
      const taken = bytes.subarray(0, step ?? bytes.length)
      text += taken.toString()
      return taken.length
    },
    write(bytes, done) {
      setImmediate(() => {
        try {
          done(null, file.writeSync(bytes))
        } catch (error) {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- thrown above
          done(error as NodeJS.ErrnoException, 0)
        }
      })
    },
  }
  return file
}

const seen = (file: FakeFile, text: string) => until(() => file.text() === text, { what: text })

test('lines are written in order, also where a write takes a part of them', async () => {
  const file = fakeFile(3)
  const lines = new LogLines(file)
  lines.write('one\n')
  lines.write('two\n')
  await seen(file, 'one\ntwo\n')
  lines.write('three\n')
  await seen(file, 'one\ntwo\nthree\n')
})

test('a full disk loses the lines that met it; later ones are written', async () => {
  const file = fakeFile('ENOSPC')
  const lines = new LogLines(file)
  lines.write('lost\n')
  await until(() => file.script.length === 0)
  lines.write('kept\n')
  await seen(file, 'kept\n')
})

// Half a line would take the next one with it: nobody could parse the first event after a full disk.
test('a line that a full disk has cut takes no other one with it', async () => {
  const file = fakeFile(3, 'ENOSPC')
  const lines = new LogLines(file)
  lines.write('lost\n')
  await until(() => file.script.length === 0)
  lines.write('kept\n')
  await seen(file, 'los\nkept\n')
  file.script.push(3, 'ENOSPC')
  lines.write('more\n')
  await until(() => file.script.length === 0)
  lines.write('last\n')
  lines.flushSync()
  assert.equal(file.text(), 'los\nkept\nmor\nlast\n')
})

test('half a line that a pipe has taken is brought to its end, also at the end of the process', async () => {
  const file = fakeFile(3, 'EAGAIN')
  const lines = new LogLines(file)
  lines.write('one\n')
  await until(() => file.script.length === 0)
  lines.write('two\n')
  lines.flushSync()
  assert.equal(file.text(), 'one\ntwo\n')
})

test('a pipe that is full gets the same lines again', async () => {
  const file = fakeFile('EAGAIN', 'EAGAIN')
  const lines = new LogLines(file)
  lines.write('one\n')
  await until(() => file.script.length < 2)
  lines.write('two\n')
  await seen(file, 'one\ntwo\n')
})

test('the end of the process writes what is left, and waits for nobody for long', async () => {
  const file = fakeFile('EAGAIN')
  const lines = new LogLines(file)
  lines.write('refused\n')
  await until(() => file.script.length === 0)
  lines.write('last\n')
  file.script.push('EAGAIN', 2)
  lines.flushSync()
  assert.equal(file.text(), 'refused\nlast\n')
  lines.write('after\n')
  await seen(file, 'refused\nlast\nafter\n')

  for (const trouble of ['ENOSPC', 'EPIPE', 'EAGAIN']) {
    const broken = fakeFile(...Array.from({ length: 10_000 }, () => trouble))
    const held = new LogLines(broken)
    held.write('never\n')
    const began = performance.now()
    held.flushSync()
    assert.ok(performance.now() - began < 5_000, trouble)
    assert.equal(broken.text(), '')
  }
})

test('a reader that has stopped holds back a bounded backlog', () => {
  const file = fakeFile()
  let asked = 0
  const lines = new LogLines({ ...file, write: () => void (asked += 1) })
  const line = `${'x'.repeat(999)}\n`
  for (let count = 0; count < 10_000; count += 1) lines.write(line)
  assert.equal(asked, 1)
  lines.flushSync()
  assert.ok(file.text().length < 5 * 1024 * 1024)
})
