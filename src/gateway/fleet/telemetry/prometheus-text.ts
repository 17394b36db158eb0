// Reads Prometheus text and OpenMetrics, as far as telemetry needs it: samples by name. Tolerant:
// a line that cannot be read is left out, and exemplars, timestamps and comments are passed over.

export interface TextSample {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

/** What a page may hold of the names that are looked for. */
const MAX_SAMPLES = 10_000
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const LABEL = /\s*,?\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"/y

/** Samples with finite values, of the names that are wanted. */
export function parsePrometheusText(
  text: string,
  wanted: (name: string) => boolean = () => true,
): TextSample[] {
  const samples: TextSample[] = []
  for (const line of text.split('\n')) {
    const name = NAME.exec(line)?.[0]
    if (name === undefined || !wanted(name)) continue
    const sample = sampleOf(name, line)
    if (sample !== undefined) samples.push(sample)
    if (samples.length >= MAX_SAMPLES) break
  }
  return samples
}

function sampleOf(name: string, line: string): TextSample | undefined {
  const labels: Record<string, string> = {}
  let at = name.length
  if (line[at] === '{') {
    LABEL.lastIndex = at + 1
    at = LABEL.lastIndex
    for (let label = LABEL.exec(line); label !== null; label = LABEL.exec(line)) {
      labels[label[1] ?? ''] = unescaped(label[2] ?? '')
      at = LABEL.lastIndex
    }
    const end = /^\s*,?\s*\}/.exec(line.slice(at))
    if (end === null) return undefined
    at += end[0].length
  }
  const figure = /^\s+(\S+)/.exec(line.slice(at))?.[1] ?? ''
  const value = figure === '' ? Number.NaN : Number(figure)
  return Number.isFinite(value) ? { name, labels, value } : undefined
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_all, sign: string) => (sign === 'n' ? '\n' : sign))
}
