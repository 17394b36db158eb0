// docs/config.md, made from the schema: one table a section, one row a key.

import type { KnownKey, SchemaNode } from '../../src/gateway/config/known-keys.ts'
import { knownKeys } from '../../src/gateway/config/known-keys.ts'

const INTRO = `# config.json

Made from the schema by \`npm run docs\`; do not edit.

The file is JSON without comments. Every key is optional but \`name\` and \`url\` (or \`urls\`) of a worker.
An unknown key is an error. \`ogw config check\` prints every problem at once, \`ogw config show\` the whole
config with its defaults, \`ogw config schema\` a JSON Schema for your editor.

- A **duration** is a string with a unit: \`"250ms"\`, \`"10s"\`, \`"10m"\`, \`"24h"\`, \`"7d"\`.
- A **model pattern** is an exact name (\`qwen3:8b\`), a prefix with one trailing \`*\` (\`gemma4:*\`), or \`*\`.
- \`\${NAME}\` inside a string is replaced by that environment variable; one that is not set is an error.
  The characters \`\${\` themselves are written \`$\${\`. Strings that hold a variable are never displayed.
- \`listen\`, \`ops_listen\`, \`admin\` and \`storage\` need a restart; everything else takes effect on a reload.
`

export function configDocs(): string {
  const keys = knownKeys()
  const sections = Map.groupBy(keys, ({ path }) => path.split(/[.[]/, 1)[0] ?? '')
  const single = [...sections.values()].flatMap((list) => (list.length === 1 ? list : []))
  const tables = [...sections].flatMap(([name, list]) =>
    list.length === 1
      ? []
      : [`## ${name}\n\n${list[0]?.node.description ?? ''}\n\n${table(list.slice(1))}`],
  )
  return [INTRO, `## Top level\n\n${table(single)}`, ...tables].join('\n').trimEnd() + '\n'
}

function table(keys: readonly KnownKey[]): string {
  const rows = keys.filter(({ leaf }) => leaf).map(row)
  return ['| key | type | default | meaning |', '|---|---|---|---|', ...rows, ''].join('\n')
}

function row({ path, node }: KnownKey): string {
  const cells = [`\`${path}\``, typeOf(node), defaultOf(node), node.description ?? '']
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function typeOf(node: SchemaNode): string {
  const unit = node.unit === undefined || node.unit === 'duration' ? '' : `, ${node.unit}`
  return `${kindOf(node)}${unit}${boundsOf(node)}`
}

function kindOf(node: SchemaNode): string {
  if (node.const !== undefined) return `\`${JSON.stringify(node.const)}\``
  if (node.enum !== undefined) return node.enum.map((value) => `\`${String(value)}\``).join(', ')
  if (node.anyOf !== undefined) return node.anyOf.map(kindOf).join(' or ')
  if (Array.isArray(node.type)) return node.type.join(' or ')
  if (node.items !== undefined) return `list of ${kindOf(node.items)}`
  if (typeof node.additionalProperties === 'object') {
    return `object: name → ${kindOf(node.additionalProperties)}`
  }
  return node.shortest === undefined ? (node.type ?? '') : 'duration'
}

/** The bounds of the value itself, or of the one alternative that has some. */
function boundsOf(node: SchemaNode): string {
  const { shortest, longest, minimum, maximum } = node
  if (shortest !== undefined) return `, ${shortest} to ${longest}`
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`
  return node.anyOf?.map(boundsOf).find((text) => text !== '') ?? ''
}

function defaultOf(node: SchemaNode): string {
  return node.default === undefined ? '' : `\`${JSON.stringify(node.default)}\``
}
