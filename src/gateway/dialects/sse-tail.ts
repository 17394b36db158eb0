// The events at the end of an SSE stream. Line ends may be LF, CRLF or CR; the last event counts
// even without the blank line that should follow it.

export interface SseEvent {
  /** Of the `event:` line; empty where there was none. */
  name: string
  data: string
}

export interface SseTail {
  events: readonly SseEvent[]
  /** A first line that began before the tail did; empty where the tail begins with a whole line. */
  fragment: string
}

export function readSseTail(tail: Buffer): SseTail {
  const lines = tail.toString('utf8').split(/\r\n|\n|\r/)
  const events: SseEvent[] = []
  let name = ''
  let data: string | undefined

  const endEvent = (): void => {
    if (data !== undefined) events.push({ name, data })
    name = ''
    data = undefined
  }
  for (const line of lines) {
    if (line === '') endEvent()
    else if (line.startsWith('data:')) data = appended(data, valueOf(line))
    else if (line.startsWith('event:')) name = valueOf(line)
  }
  endEvent()
  const first = lines[0] ?? ''
  return { events, fragment: FIELD.test(first) ? '' : first }
}

const FIELD = /^(data|event|id|retry|):/

function appended(data: string | undefined, line: string): string {
  return data === undefined ? line : `${data}\n${line}`
}

/** One blank after the colon belongs to the framing. */
function valueOf(line: string): string {
  const value = line.slice(line.indexOf(':') + 1)
  return value.startsWith(' ') ? value.slice(1) : value
}
