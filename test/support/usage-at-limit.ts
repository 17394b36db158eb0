// Books usage in a process that may not let a file grow beyond a few KiB, as on a disk that fills
// up in the middle of a write: the first lines of a batch are taken, the rest is not. Prints what
// the log says of it.

import { systemClock } from '../../src/gateway/clock.ts'
import { UsageLog } from '../../src/gateway/state/usage-log.ts'

const [, , file = ''] = process.argv
const log = new UsageLog(file, systemClock)
const book = (actor: number): void =>
  log.book({ tenant: 'red', actor: `a${actor}`, model: 'm:1b', promptTokens: 1, outputTokens: 0 })

book(0)
await log.flush()
for (let actor = 1; actor <= 99; actor += 1) book(actor)
await log.flush()
const { error } = log
await log.flush()
const [total] = await log.totals('tenant', 0)
console.log(JSON.stringify({ error, total }))
process.exit(0)
