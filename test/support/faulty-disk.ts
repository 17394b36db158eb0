// A disk whose n-th call fails or kills the process, and a list of the calls that were made.

import { disk } from '../../src/gateway/state/disk.ts'
import type { Disk } from '../../src/gateway/state/disk.ts'

export type DiskCall = keyof Disk

/** In the order of one write that goes well. */
export const CALLS_OF_A_WRITE: readonly DiskCall[] = [
  'create',
  'write',
  'sync',
  'close',
  'rename',
  'syncFolder',
]

/** `before` runs before each call; what it throws is what the call fails with. */
export function watchedDisk(before: (call: DiskCall) => void): Disk {
  return {
    async create(file) {
      before('create')
      return disk.create(file)
    },
    async write(handle, data) {
      before('write')
      const bytes = Buffer.from(data)
      // Half of it first, as a full disk does.
      await handle.write(bytes.subarray(0, bytes.length / 2))
      return disk.write(handle, bytes.subarray(bytes.length / 2))
    },
    async sync(handle) {
      before('sync')
      return disk.sync(handle)
    },
    async close(handle) {
      try {
        before('close')
      } catch (error) {
        await disk.close(handle) // a close that fails has let go of the file all the same
        throw error
      }
      return disk.close(handle)
    },
    async rename(from, to) {
      before('rename')
      return disk.rename(from, to)
    },
    async syncFolder(folder) {
      before('syncFolder')
      return disk.syncFolder(folder)
    },
    async remove(file) {
      before('remove')
      return disk.remove(file)
    },
  }
}

export function diskError(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code })
}
