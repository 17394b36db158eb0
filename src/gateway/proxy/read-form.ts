// The fields of a multipart form, read as strictly as a worker reads them or more so: where the two
// could differ on what the model is, a rule could be dodged, and the form is refused.

import { GatewayError } from '../errors.ts'

/** A text field longer than this is not one the gateway has to know. */
const FIELD_BYTES = 64 * 1024

const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')

/** Values of parts that are text; of a file its size. Throws GatewayError invalid_request. */
export function readFormFields(bytes: Buffer, contentType: string): Record<string, unknown> {
  const opening = Buffer.from(`--${boundaryOf(contentType)}`)
  const first = startsWith(bytes, 0, '\r\n') ? LINE_END.length : 0
  // Nobody sends more of a preamble, and where it ends is read in more ways than one.
  if (!bytes.subarray(first, first + opening.length).equals(opening))
    throw broken('it begins with no boundary')
  const delimiter = Buffer.concat([LINE_END, opening])
  const fields: Record<string, unknown> = Object.create(null)
  const seen = new Set<string>()
  let at = first + opening.length
  while (!startsWith(bytes, at, '--')) {
    if (!startsWith(bytes, at, '\r\n')) throw broken('a boundary does not end its line')
    const headEnd = bytes.indexOf(HEAD_END, at)
    const end = partEnd(bytes, at, delimiter)
    if (headEnd === -1 || headEnd > end) throw broken('a part has no head')
    const { name, isFile } = readHead(bytes.toString('utf8', at, headEnd))
    const value = bytes.subarray(headEnd + HEAD_END.length, end)
    if (name !== undefined) {
      const folded = name.toLowerCase()
      if (seen.has(folded)) throw broken(`the field "${name.slice(0, 40)}" is there twice`)
      seen.add(folded)
      fields[name] = isFile ? { bytes: value.length } : value.toString('utf8', 0, FIELD_BYTES)
    }
    at = end + delimiter.length
  }
  return fields
}

function boundaryOf(contentType: string): string {
  const found = [...contentType.matchAll(/;\s*boundary=(?:"([^"\\]+)"|([^;\s"]+))/gi)]
  const [only] = found
  const boundary = only?.[1] ?? only?.[2]
  if (boundary === undefined || found.length > 1) throw broken('no boundary')
  return boundary
}

/** Where the part that begins at `from` ends. The boundary may stand within a line of a file. */
function partEnd(bytes: Buffer, from: number, delimiter: Buffer): number {
  let end = bytes.indexOf(delimiter, from)
  while (end !== -1 && !endsBoundary(bytes[end + delimiter.length])) {
    end = bytes.indexOf(delimiter, end + 1)
  }
  if (end === -1) throw broken('unexpected EOF')
  return end
}

/** Another character makes it a longer text that only begins like the boundary. */
function endsBoundary(next: number | undefined): boolean {
  return next !== undefined && /[-\s]/.test(String.fromCharCode(next))
}

function readHead(head: string): { name: string | undefined; isFile: boolean } {
  const lines = head.split('\r\n')
  const dispositions = lines.filter((line) => /^content-disposition\s*:/i.test(line))
  const [line = ''] = dispositions
  if (lines.some(isAmbiguous) || /;\s*name\*/i.test(line)) throw broken('its head is ambiguous')
  const names = [...line.matchAll(/;\s*name\s*=\s*(?:"([^"\\]*)"|([^;\s"]+))/gi)]
  if (dispositions.length > 1 || names.length > 1) throw broken('a part has two names')
  return { name: names[0]?.[1] ?? names[0]?.[2], isFile: /;\s*filename\*?\s*=/i.test(line) }
}

/** It goes on from the line before, ends early for some, or says that the value is encoded. */
function isAmbiguous(line: string): boolean {
  return /^[ \t]|[\r\n]|^content-transfer-encoding\s*:\s*quoted/i.test(line)
}

function startsWith(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text
}

function broken(why: string): GatewayError {
  const detail = `failed to parse multipart form: ${why}`
  return new GatewayError({ code: 'invalid_request', detail })
}
