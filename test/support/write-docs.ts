// Writes the generated pages of docs/ and the lint rules of the map. A test asserts that each is current.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { adminDocs } from './admin-docs.ts'
import { cliDocs } from './cli-docs.ts'
import { faultsDocs } from './faults-docs.ts'
import { configDocs } from './config-docs.ts'
import { consoleDocs } from './console-docs.ts'
import { manPage } from './man-page.ts'
import { metricsDocs } from './metrics-docs.ts'
import { lintRulesPage } from './lint-rules.ts'

/** The root of the repository, from dist/test/support. */
export const ROOT = path.join(import.meta.dirname, '..', '..', '..')

/** Path from the root → what belongs there. */
export const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/admin-api.md': adminDocs,
  'docs/cli.md': cliDocs,
  'docs/config.md': configDocs,
  'docs/faults.md': faultsDocs,
  'docs/console.md': consoleDocs,
  'docs/metrics.md': metricsDocs,
  'docs/ogw.1': manPage,
  '.oxlintrc.imports.json': lintRulesPage,
}

if (process.argv[1] === import.meta.filename) {
  for (const [file, make] of Object.entries(PAGES)) {
    writeFileSync(path.join(ROOT, file), await make())
    console.log(`wrote ${file}`)
  }
}
