// Child process: saves a document and is killed by its own signal before the disk call it is told.
// `save-and-die.js FILE CALL VALUE`; without that call it ends well.

import { z } from 'zod'
import { Document } from '../../src/gateway/state/document.ts'
import { watchedDisk } from './faulty-disk.ts'

const [file = '', killBefore = '', value = ''] = process.argv.slice(2)
const document = new Document({
  file,
  schema: z.strictObject({ version: z.literal(1), value: z.string() }),
  empty: { version: 1, value: '' },
  remedy: 'move it away',
  disk: watchedDisk((call) => {
    if (call === killBefore) process.kill(process.pid, 'SIGKILL')
  }),
})
try {
  await document.save({ version: 1, value })
  process.stdout.write('saved\n')
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
