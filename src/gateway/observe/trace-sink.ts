// Hears of requests that are over and hands their spans to the exporter, which is loaded only once
// `otel.endpoint` is set: without tracing none of it is in memory.

import type { Clock } from '../clock.ts'
import type { Log } from './log.ts'
import type { OtlpExporter } from './otlp-exporter.ts'
import type { RequestRecord } from './request-record.ts'

export interface TraceSinkDeps {
  clock: Clock
  log: Log
  version: string
  env: Readonly<Record<string, string | undefined>>
  /** As the config has it now; null = no tracing. */
  endpoint(): string | null
}

export class TraceSink {
  readonly #deps: TraceSinkDeps
  #exporter: Promise<OtlpExporter> | undefined

  constructor(deps: TraceSinkDeps) {
    this.#deps = deps
  }

  readonly book = (record: RequestRecord): void => {
    const endpoint = this.#deps.endpoint()
    if (endpoint === null || !record.trace.sampled) return
    this.#exporter ??= this.#load()
    void this.#exporter.then((exporter) => exporter.add(record, endpoint))
  }

  /** Sends what is left, within a bound of the exporter. */
  async stop(): Promise<void> {
    await (await this.#exporter)?.stop()
  }

  async #load(): Promise<OtlpExporter> {
    const { OtlpExporter } = await import('./otlp-exporter.ts')
    return new OtlpExporter(this.#deps)
  }
}
