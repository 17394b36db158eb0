// Loaded into another process with --import: SIGUSR2 begins a measurement of how long its loop
// stands still, and its end writes the longest time, in milliseconds, to OGW_LOOP_DELAY_FILE.

import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const file = process.env['OGW_LOOP_DELAY_FILE']
if (file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  process.on('SIGUSR2', () => delay.reset())
  process.on('exit', () => writeFileSync(file, String(delay.max / 1e6)))
}
