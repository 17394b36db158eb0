// The config that runs, as it could have been written: every default filled in, durations with
// their unit, and nothing that is secret. For `ogw config show`, the console and bug reports.

import { durationText } from './fields.ts'
import type { SchemaNode } from './known-keys.ts'
import { childNode, configJsonSchema } from './known-keys.ts'
import { childPath } from './problem.ts'
import type { Config } from './schema.ts'

/** Stands for a value that is never displayed. */
export const MASK = '***'

/**
 * Masked are header values, `openwebui_jwt_secret`, credentials within URLs, and every string that
 * holds something from the environment (`fromEnv` of the loaded config): whoever puts a value there
 * may mean it to be secret.
 */
export function effectiveConfig(
  config: Config,
  fromEnv: readonly string[],
): Record<string, unknown> {
  const hidden = new Set(fromEnv.map((path) => path.replace(/\.url$/, '.urls[0]')))
  const schema = configJsonSchema()
  return Object.fromEntries(
    Object.entries(config).map(([key, value]: [string, unknown]) => [
      key,
      display(value, key, childNode(schema, key), hidden),
    ]),
  )
}

function display(
  value: unknown,
  path: string,
  node: SchemaNode | undefined,
  hidden: ReadonlySet<string>,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) =>
      display(item, childPath(path, index), node?.items ?? node, hidden),
    )
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]: [string, unknown]) => [
        key,
        display(item, childPath(path, key), node && childNode(node, key), hidden),
      ]),
    )
  }
  if (typeof value === 'number' && node?.unit === 'duration') {
    return value < 0 ? '-1' : durationText(value)
  }
  if (typeof value !== 'string') return value
  return hidden.has(path) || isSecret(path) ? MASK : withoutCredentials(value)
}

const isSecret = (path: string): boolean =>
  path === 'auth.openwebui_jwt_secret' || /^workers\[\d+\]\.headers\b/.test(path)

function withoutCredentials(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^\s/@]*:[^\s/@]*@/i, `$1${MASK}@`)
}
