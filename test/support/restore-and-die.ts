// Child process: restores a backup and is killed by its own signal before the n-th disk call.
// `restore-and-die.js FOLDER BACKUP N`; with an N that is not reached it ends well.

import { placesIn, restoreFile } from './state-folder.ts'
import { watchedDisk } from './faulty-disk.ts'

const [folder = '', backup = '', count = ''] = process.argv.slice(2)
let left = Number(count)
await restoreFile(placesIn(folder), backup, {
  withConfig: true,
  disk: watchedDisk(() => {
    left -= 1
    if (left < 0) process.kill(process.pid, 'SIGKILL')
  }),
})
process.stdout.write('restored\n')
