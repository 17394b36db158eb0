// A worker that compresses although it was not asked to (a proxy in between does): its answer is
// decompressed as it comes, each flushed piece at once.

import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib'
import type { Transform } from 'node:stream'

export interface Inflater {
  push(chunk: Buffer): void
  end(): void
  destroy(): void
}

interface InflaterEvents {
  onData(chunk: Buffer): void
  onEnd(): void
  onError(error: Error): void
}

/** Undefined where there is nothing to undo, or nothing that is known. */
export function inflaterFor(
  encoding: string | undefined,
  events: InflaterEvents,
): Inflater | undefined {
  const stream = decompressorOf(encoding)?.()
  if (stream === undefined) return undefined
  stream.on('data', events.onData).once('end', events.onEnd).on('error', events.onError)
  return {
    push: (chunk) => void stream.write(chunk),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  }
}

/** True for the codings that an answer is freed of on its way. */
export function isUndone(encoding: string | undefined): boolean {
  return decompressorOf(encoding) !== undefined
}

const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = constants
const gunzip = (): Transform => createGunzip({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })

const DECOMPRESSORS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', () => createInflate({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })],
  ['br', () => createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH })],
  ['zstd', () => createZstdDecompress({ flush: ZSTD_e_flush })],
])

function decompressorOf(encoding: string | undefined): (() => Transform) | undefined {
  return encoding === undefined ? undefined : DECOMPRESSORS.get(encoding.trim().toLowerCase())
}
