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
  const stream = encoding === undefined ? undefined : decompressor(encoding.trim().toLowerCase())
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
  return encoding !== undefined && UNDONE.has(encoding.trim().toLowerCase())
}

const UNDONE: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd'])

function decompressor(encoding: string): Transform | undefined {
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = constants
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })
    case 'deflate':
      return createInflate({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })
    case 'br':
      return createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH })
    case 'zstd':
      return createZstdDecompress({ flush: ZSTD_e_flush })
    default:
      return undefined
  }
}
