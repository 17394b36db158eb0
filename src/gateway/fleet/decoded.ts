// Whole answers of workers to the gateway's own questions, freed of a compression that nobody
// asked for: a proxy in front of a worker may compress all that it passes on.

import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
])

/** The body as it was before; as it is where its coding is unknown. Rejects where it is damaged. */
export async function decoded(
  body: Buffer,
  encoding: string | string[] | undefined,
  maxBytes: number,
): Promise<Buffer> {
  const decoder = DECODERS.get(String(encoding ?? '').toLowerCase())
  return decoder === undefined ? body : await decoder(body, { maxOutputLength: maxBytes })
}
