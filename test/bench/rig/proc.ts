// What the kernel says of a process under test.

import { readdirSync, readFileSync } from 'node:fs'

/** Bytes a page has on every Linux that Node runs on with a pinned binary. */
const PAGE_BYTES = 4096

/**
 * CPU seconds of a process with its threads and children. The numbers are those of /proc/PID/stat,
 * read from each thread's schedstat, where they stand in nanoseconds and not in hundredths.
 */
export function cpuSeconds(pid: number): number {
  let sum = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${task}`
    sum += Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1e9
    const children = readFileSync(`${folder}/children`, 'utf8').split(' ').filter(Boolean)
    for (const child of children) sum += cpuSeconds(Number(child))
  }
  return sum
}

/** Resident bytes of a process, without its children. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES
}
