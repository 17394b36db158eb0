import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import { keyFor } from '../../support/key-drafts.ts'
import { startRig } from '../../support/rig.ts'

const READS = ['readFileSync', 'readFile', 'openSync', 'open', 'createReadStream'] as const

/** Says which file is opened to be read, by whichever way, until it is undone. */
function watchReads(say: (line: string) => void): () => void {
  const undo: (() => void)[] = []
  for (const of of [fs, fs.promises]) {
    for (const name of READS) {
      const real: unknown = Reflect.get(of, name)
      if (typeof real !== 'function') continue
      const watched = (...args: unknown[]): unknown => {
        const flag = name.startsWith('open') ? args[1] : 'r'
        if (flag === undefined || flag === 'r') say(`${name} ${String(args[0])}`)
        return Reflect.apply(real, of, args)
      }
      Reflect.set(of, name, watched)
      undo.push(() => Reflect.set(of, name, real))
    }
  }
  syncBuiltinESMExports()
  return () => {
    for (const one of undo) one()
    syncBuiltinESMExports()
  }
}

// B154: keys, tenants, placement and credits are read at the start; a request asks memory alone.
test('a thousand requests read no file', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], slots: 8, tokens: 2 }],
    workerConfig: { max_concurrent: 8 },
    config: { auth: { mode: 'keys' }, tenants: [{ name: 'team', credits: 10_000_000 }] },
  })
  const headers = await keyFor(rig, { tenant: 'team' })
  const ask = async (): Promise<number> => {
    const body = { model: 'm:1b', prompt: 'hi', stream: false }
    const answer = await rig.post('/api/generate', body, { headers })
    await answer.text()
    return answer.status
  }
  assert.equal(await ask(), 200)
  // What is written a second later looks once how its file ends.
  await new Promise((resolve) => setTimeout(resolve, 1_500))

  const read: string[] = []
  const undo = watchReads((line) => read.push(line))
  try {
    for (let round = 0; round < 125; round += 1) {
      const statuses = await Promise.all(Array.from({ length: 8 }, ask))
      assert.ok(statuses.every((status) => status === 200))
    }
  } finally {
    undo()
  }
  // A folder is opened to be flushed after a write; the kernel's figures are read by the clock.
  const files = read.filter((line) => !line.endsWith('/state') && !line.includes(' /proc/'))
  assert.deepEqual(files, [])
})
