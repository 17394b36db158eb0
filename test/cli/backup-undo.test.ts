// A restore can be undone by the command that it says at its end, also where the config that comes
// back keeps state elsewhere, or where the one that goes is broken.

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { run } from '../support/run-cli.ts'
import type { Ran } from '../support/run-cli.ts'
import { contentOf, stateFolder } from '../support/state-folder.ts'
import type { StateFolder } from '../support/state-folder.ts'

let box: StateFolder
let now = 0
beforeEach(() => {
  box = stateFolder()
  box.fill(1)
  now = Date.parse('2026-05-01T12:00:00Z')
})
afterEach(() => box[Symbol.dispose]())

const config = (): string => path.join(box.folder, 'config.json')
const ogw = (...argv: string[]): Promise<Ran> => run(argv, { now: (now += 1_000) })
const restore = (file: string, ...more: string[]): Promise<Ran> =>
  ogw('backup', 'restore', file, '--config', config(), '--yes', ...more)

/** As it is pasted into a shell. */
async function undo({ stderr }: Ran): Promise<Ran> {
  const line = /To undo: ogw (.*)/.exec(stderr)?.[1] ?? ''
  return await ogw(...line.split(' ').map((word) => word.replaceAll("'", '')), '--yes')
}

/** The state that a gateway would have, without what restores add to it. */
function state(dir = box.dir): Record<string, string> {
  return contentOf(dir, (name) => !/^(?:before-restore-|audit)/.test(name))
}

/** The config keeps state in another folder from now on, in which a copy of it is. */
function moveState(to: string): string {
  const dir = path.join(box.folder, to)
  cpSync(box.dir, dir, { recursive: true })
  writeFileSync(config(), readFileSync(config(), 'utf8').replace(box.dir, dir))
  return dir
}

// The backup of what was before held the old config and the files of the new place, of which there
// were none: undoing it removed the state that the old config had.
test('a config that moves the state back and forth: all of the old state is there', async () => {
  const { file } = await box.backUp()
  const dir = moveState('moved')
  const [before, then] = [state(dir), readFileSync(config(), 'utf8')]
  rmSync(box.dir, { recursive: true })

  const ran = await restore(file, '--with-config')
  assert.equal(ran.code, 0, ran.stderr)
  assert.deepEqual(state(), before)
  const undone = await undo(ran)
  assert.equal(undone.code, 0, undone.stderr)
  assert.deepEqual(state(dir), before)
  assert.equal(readFileSync(config(), 'utf8'), then)
})

test('where the place has another state that would be lost, it is refused with what to do', async () => {
  const { file } = await box.backUp()
  moveState('moved')
  writeFileSync(box.fileOf('keys_file'), 'of somebody')
  const before = { ...box.content() }
  const ran = await restore(file, '--with-config')
  assert.equal(ran.code, 6)
  assert.match(ran.stderr, /could not be undone\. Move \S+state away, or restore the state alone/)
  assert.deepEqual(box.content(), before)
})

test('a broken config is put back by --force, which the command names', async () => {
  const { file } = await box.backUp()
  box.fill(2)
  writeFileSync(config(), '{ "workers": [')
  const before = state()
  const ran = await restore(file, '--with-config')
  assert.equal(ran.code, 0, ran.stderr)
  assert.match(ran.stderr, /To undo: .*--with-config --force$/m)
  const kept = /To undo: ogw backup restore (\S+)/.exec(ran.stderr)?.[1] ?? ''
  const refused = await restore(kept, '--with-config')
  assert.equal(refused.code, 3)
  assert.match(refused.stderr, /the config in \S+\.zip does not say where state is; --force/)
  const undone = await undo(ran)
  assert.equal(undone.code, 0, undone.stderr)
  assert.deepEqual(state(), before)
  assert.equal(readFileSync(config(), 'utf8'), '{ "workers": [')
})

test('names with blanks are said as a shell reads them', async () => {
  const folder = path.join(box.folder, 'of the night')
  mkdirSync(folder)
  using other = stateFolder(folder)
  other.fill(2)
  const { file } = await box.backUp()
  const argv = ['backup', 'restore', file, '--config', path.join(folder, 'config.json'), '--yes']
  const ran = await ogw(...argv)
  assert.match(ran.stderr, /To undo: ogw backup restore '\S+of the night\S+' --config '\S+of the/)
})

// A restore that is asked about for minutes compares first and changes later.
test('a file that changed since it was compared: nothing is restored, and nothing is left', async () => {
  const { file } = await box.backUp()
  writeFileSync(box.fileOf('keys_file'), 'broken')
  const tenants = box.fileOf('tenants_file')
  const answer = {
    [Symbol.asyncIterator]: async function* () {
      writeFileSync(tenants, 'changed while somebody thought about it')
      yield await Promise.resolve('y\n')
    },
  }
  const ran = await run(['backup', 'restore', file, '--config', config()], {
    terminal: 80,
    answers: answer,
  })
  assert.equal(ran.code, 6)
  assert.match(ran.stderr, /tenants\.json has changed since it was compared/)
  assert.equal(readFileSync(box.fileOf('keys_file'), 'utf8'), 'broken')
  assert.ok(!Object.keys(contentOf(box.dir)).some((name) => /before|restore/.test(name)))
  assert.ok(existsSync(file))
})
