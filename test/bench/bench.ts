// What a benchmark reports. Each `*.bench.ts` exports `run(): Promise<BenchRow[]>`.

export interface BenchRow {
  name: string
  value: number
  unit: string
  /** What was measured, and the bound it has to hold. */
  note: string
}
