// Which of a machine's GPUs are a worker's: `nvidia_gpu` of the config, read and applied. Pure.

import type { GpuReading } from '../worker.ts'

export interface Selected {
  gpus: GpuReading[]
  /** Entries of the selection that no GPU answers to. */
  missing: string[]
}

/**
 * Null selects all. An entry is an index as nvidia-smi numbers them, a uuid or its beginning, or
 * the uuid of a MIG instance, which stands for the whole GPU that it is cut from: nvidia-smi tells
 * no figures of an instance.
 */
export function selectGpus(
  gpus: readonly GpuReading[],
  selection: string | null,
  migParents: ReadonlyMap<string, string> = new Map(),
): Selected {
  if (selection === null) return { gpus: [...gpus], missing: [] }
  const chosen = new Set<GpuReading>()
  const missing: string[] = []
  for (const entry of entriesOf(selection)) {
    const wanted = migParents.get(entry.toLowerCase()) ?? entry
    const found = gpus.find((gpu) => answersTo(gpu, wanted.toLowerCase()))
    if (found === undefined) missing.push(entry)
    else chosen.add(found)
  }
  return { gpus: gpus.filter((gpu) => chosen.has(gpu)), missing }
}

function entriesOf(selection: string): string[] {
  return selection
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

export function namesMig(selection: string): boolean {
  return entriesOf(selection).some((entry) => /^mig-/i.test(entry))
}

function answersTo({ index, id }: GpuReading, wanted: string): boolean {
  if (/^\d+$/.test(wanted)) return index === Number(wanted)
  return wanted.startsWith('gpu-') && id.toLowerCase().startsWith(wanted)
}

/** `nvidia-smi -L`: uuid of each MIG instance, in lower case → uuid of its GPU. */
export function parseMigParents(listing: string): Map<string, string> {
  const parents = new Map<string, string>()
  let gpu = ''
  for (const line of listing.split('\n')) {
    const uuid = /\(UUID: ([^)]+)\)/.exec(line)?.[1]
    if (uuid === undefined) continue
    if (/^\s*MIG\b/.test(line)) parents.set(uuid.toLowerCase(), gpu)
    else gpu = uuid
  }
  return parents
}
