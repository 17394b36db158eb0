// Where one SSE event ends and the next may begin. What the gateway adds to a stream (heartbeats,
// its own last error) must never land inside a frame that the worker has only half sent.

const CR = 0x0d
const LF = 0x0a

/** SSE decoders skip comments; it is a whole frame, so it needs a frame boundary before it. */
export const SSE_HEARTBEAT = ': heartbeat\n\n'

/** Whether the stream so far, of which these are the last bytes, ends with whole events. */
export function atFrameBoundary(lastBytes: Buffer): boolean {
  const blankStart = lineEndStart(lastBytes, lastBytes.length)
  if (lastBytes.length === 0 || blankStart === 0) return true
  if (blankStart === lastBytes.length) return false
  const before = lastBytes[blankStart - 1]
  return before === LF || before === CR
}

/** What has to be sent to end the event that is open, so that another can follow. */
export function closeSseFrame(sent: Buffer | undefined): string {
  if (sent === undefined || atFrameBoundary(sent)) return ''
  return lineEndStart(sent, sent.length) < sent.length ? '\n' : '\n\n'
}

/** The same for NDJSON, which must never get a blank line. */
export function closeNdjsonLine(sent: Buffer | undefined): string {
  return sent === undefined || sent.length === 0 || sent.at(-1) === LF ? '' : '\n'
}

/** Where the line terminator that ends at `end` begins; `end` where there is none. */
function lineEndStart(bytes: Buffer, end: number): number {
  if (bytes[end - 1] === CR) return end - 1
  if (bytes[end - 1] !== LF) return end
  return bytes[end - 2] === CR ? end - 2 : end - 1
}
