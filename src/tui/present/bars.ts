// Pictures of numbers, one row high.

const STEPS = '▁▂▃▄▅▆▇█'

/** A share of 0 to 1 as a bar; unknown is dots, which is another thing than empty. */
export function bar(share: number | null | undefined, cells: number): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return '·'.repeat(cells)
  const filled = Math.round(Math.min(1, Math.max(0, share)) * cells)
  return '█'.repeat(filled) + '░'.repeat(cells - filled)
}

/** The newest values, one cell each, the highest as tall as it gets; nothing where one is no line. */
export function sparkline(values: readonly number[], cells: number): string {
  const shown = values.slice(-cells)
  const highest = Math.max(0, ...shown)
  if (highest === 0 || shown.length < 2) return ''
  return shown
    .map((value) => STEPS[Math.round((Math.max(0, value) / highest) * (STEPS.length - 1))] ?? '▁')
    .join('')
}
