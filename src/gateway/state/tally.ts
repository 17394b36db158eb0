// Counts and hashes bytes on their way past, and keeps as much of them as is needed to judge them.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { TAIL_BYTES } from './line-version.ts'

export interface Tally {
  size: number
  /** In hex; of all bytes, once they have passed. */
  sha256: string
  /** The whole of a document, the end of lines; empty where a document is too large to be judged. */
  text: string
}

/** A document is read whole: beyond this it is none that a gateway could have written. */
export const MAX_DOCUMENT_BYTES = 256 * 1024 * 1024

/** Passes the chunks on. `tally` is whole once the last one has been taken. */
export async function* tallied(
  chunks: AsyncIterable<Uint8Array>,
  kind: 'document' | 'lines',
  tally: Tally,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256')
  const limit = kind === 'document' ? MAX_DOCUMENT_BYTES : TAIL_BYTES
  let kept: Uint8Array[] = []
  let keptBytes = 0
  for await (const chunk of chunks) {
    hash.update(chunk)
    tally.size += chunk.length
    kept.push(chunk)
    keptBytes += chunk.length
    if (kind === 'lines') {
      while (keptBytes - (kept[0]?.length ?? 0) >= limit) keptBytes -= kept.shift()?.length ?? 0
    } else if (keptBytes > limit) {
      kept = []
      keptBytes = 0
    }
    yield chunk
  }
  tally.sha256 = hash.digest('hex')
  if (kind === 'lines' || tally.size <= limit) tally.text = Buffer.concat(kept).toString('utf8')
}

export function newTally(): Tally {
  return { size: 0, sha256: '', text: '' }
}

/** Takes all of it and keeps no more than the tally does. */
export async function tallyOf(
  chunks: AsyncIterable<Uint8Array>,
  kind: 'document' | 'lines',
): Promise<Tally> {
  const tally = newTally()
  const passing = tallied(chunks, kind, tally)
  while ((await passing.next()).done !== true) {
    // Each chunk is counted as it passes.
  }
  return tally
}

/** Of a file, in hex. Rejects with the system's error. */
export async function sha256Of(file: string): Promise<string> {
  return (await tallyOf(createReadStream(file), 'lines')).sha256
}
