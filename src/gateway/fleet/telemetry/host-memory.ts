// How much RAM the gateway's own machine, or the container it runs in, has and uses.

import { readFile } from 'node:fs/promises'
import { freemem, totalmem } from 'node:os'
import type { HostMemory } from './combine.ts'

/** Where to look: a test gives folders of its own. */
export interface MemoryFiles {
  meminfo: string
  cgroup: string
}

const SYSTEM: MemoryFiles = { meminfo: '/proc/meminfo', cgroup: '/sys/fs/cgroup' }

/** Undefined only where nothing can be read at all. */
export async function readHostMemory(files = SYSTEM): Promise<HostMemory | undefined> {
  const host = parseMeminfo(await textOf(files.meminfo)) ?? {
    usedBytes: totalmem() - freemem(),
    totalBytes: totalmem(),
  }
  if (host.totalBytes <= 0) return undefined
  return withinCgroup(host, await readCgroup(files.cgroup))
}

/** Undefined where it is not Linux's. */
export function parseMeminfo(text: string): HostMemory | undefined {
  const total = kibibytes(text, 'MemTotal')
  const available = kibibytes(text, 'MemAvailable')
  if (total === undefined || available === undefined) return undefined
  return { usedBytes: Math.max(0, total - available), totalBytes: total }
}

function kibibytes(text: string, name: string): number | undefined {
  const figure = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
  return figure === undefined ? undefined : Number(figure) * 1024
}

export interface Cgroup {
  /** Infinity: it has no limit of its own. */
  limitBytes: number
  usedBytes: number
  /** Pages of files that are given back at once, part of `usedBytes`. */
  reclaimableBytes: number
}

/**
 * In a container its limit is the machine. The root of the hierarchy has no limit, so that a limit
 * there means a container; the limit of a service on the host is further down and not looked at.
 */
function withinCgroup(host: HostMemory, cgroup: Cgroup | undefined): HostMemory {
  if (cgroup === undefined || cgroup.limitBytes >= host.totalBytes) return host
  const usedBytes = Math.max(0, cgroup.usedBytes - cgroup.reclaimableBytes)
  return { usedBytes: Math.min(usedBytes, cgroup.limitBytes), totalBytes: cgroup.limitBytes }
}

async function readCgroup(root: string): Promise<Cgroup | undefined> {
  const [max, current, stat] = await Promise.all([
    textOf(`${root}/memory.max`),
    textOf(`${root}/memory.current`),
    textOf(`${root}/memory.stat`),
  ])
  if (max !== '') return cgroupOf(max, current, /^inactive_file (\d+)$/m.exec(stat)?.[1])
  const first = `${root}/memory`
  const [limit, usage, old] = await Promise.all([
    textOf(`${first}/memory.limit_in_bytes`),
    textOf(`${first}/memory.usage_in_bytes`),
    textOf(`${first}/memory.stat`),
  ])
  return cgroupOf(limit, usage, /^total_inactive_file (\d+)$/m.exec(old)?.[1])
}

function cgroupOf(max: string, current: string, inactive = '0'): Cgroup | undefined {
  const limit = max.trim()
  if (!/^\d+$/.test(current.trim())) return undefined
  if (limit !== 'max' && !/^\d+$/.test(limit)) return undefined
  return {
    limitBytes: limit === 'max' ? Number.POSITIVE_INFINITY : Number(limit),
    usedBytes: Number(current),
    reclaimableBytes: Number(inactive),
  }
}

async function textOf(file: string): Promise<string> {
  // A file that is not there is the ordinary case on every other system and version.
  return await readFile(file, 'utf8').catch(() => '')
}
