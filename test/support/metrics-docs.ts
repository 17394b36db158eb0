// docs/metrics.md, made from the families themselves.

import { createMetrics } from '../../src/gateway/observe/metrics.ts'
import type { FamilyText, Metrics } from '../../src/gateway/observe/metrics.ts'

const INTRO = `# Metrics

Made from the code by \`npm run docs\`; do not edit.

\`GET /metrics\` of the ops listener (\`ops_listen\`, 127.0.0.1:11436) is Prometheus text. Beside these families stand
the usual \`process_*\` and \`nodejs_*\`. Labels are worker, model, dialect and outcome, never tenant, user or request;
a model that no worker has installed is counted as \`other\`. A gauge of which nothing is known has no series: an
unknown figure is not 0. The figures of \`ogw workers show\`, of the console and of this page are the same.

Rules for alerts are in [prometheus-alerts.yaml](prometheus-alerts.yaml), a dashboard in
[grafana-dashboard.json](grafana-dashboard.json), and what to do about each alert in [operations.md](operations.md).
\`GET /telemetry\` of the same listener gives the figures of its machine as JSON: it is what the \`telemetry_url\` of
another ogw reads.
`

/** Metrics of a gateway without workers: the families are there, most series are not. */
export function emptyMetrics(): Metrics {
  return createMetrics({
    version: '0',
    workers: () => [],
    inFlight: () => 0,
    modelInFlight: () => 0,
    waiting: () => new Map(),
    draining: () => false,
    isInstalled: () => false,
    configReload: () => ({ successful: true, succeededAtS: 0 }),
    telemetryReadAt: () => undefined,
    now: () => 0,
    mono: () => 0,
  })
}

export function metricsDocs(): string {
  const rows = emptyMetrics().families().map(row)
  return [INTRO, '| family | type | labels | meaning |', '|---|---|---|---|', ...rows, ''].join(
    '\n',
  )
}

function row({ name, type, labels, help }: FamilyText): string {
  const names = labels.map((label) => `\`${label}\``).join(', ')
  return `| \`${name}\` | ${type} | ${names} | ${help.replaceAll('|', '\\|')} |`
}
