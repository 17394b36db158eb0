// Prometheus text of gauges. Written here and not by prom-client: a fleet of 200 workers has tens
// of thousands of samples, and a scrape must not hold up the streams.

/** Names in the order of `labels` of their family, and the value; an undefined one is left out. */
export type Sample = readonly [values: readonly string[], value: number | undefined]

export interface GaugeFamily {
  /** Whole, as Prometheus knows it. */
  name: string
  help: string
  labels: readonly string[]
  samples: Iterable<Sample>
}

export function gaugeText(family: GaugeFamily): string {
  const { name, help, labels, samples } = family
  let text = `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`
  for (const [values, value] of samples) {
    if (value === undefined || !Number.isFinite(value)) continue
    text += labels.length === 0 ? name : `${name}{${labelText(labels, values)}}`
    text += ` ${value}\n`
  }
  return text
}

function labelText(labels: readonly string[], values: readonly string[]): string {
  let text = ''
  for (let i = 0; i < labels.length; i += 1) {
    if (i > 0) text += ','
    text += `${labels[i] ?? ''}="${escaped(values[i] ?? '')}"`
  }
  return text
}

const NEEDS_ESCAPE = /[\\"\n]/

function escaped(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return text
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
