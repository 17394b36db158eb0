// What the schema knows, as data: the JSON Schema of config.json, every key in it, and the nearest
// known key to one that is not.

import { z } from 'zod'
import { childPath } from './problem.ts'
import { Config } from './schema.ts'

/** The part of JSON Schema that the config's has. */
const SchemaNode = z.looseObject({
  description: z.string().optional(),
  unit: z.string().optional(),
  default: z.unknown().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  shortest: z.string().optional(),
  longest: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  get properties() {
    return z.record(z.string(), SchemaNode).optional()
  },
  get items() {
    return SchemaNode.optional()
  },
  get additionalProperties() {
    return z.union([z.boolean(), SchemaNode]).optional()
  },
  get anyOf() {
    return z.array(SchemaNode).optional()
  },
})
export type SchemaNode = z.infer<typeof SchemaNode>

/** JSON Schema (2020-12) of config.json as it is written, for editors and `ogw config schema`. */
export function configJsonSchema(): SchemaNode {
  return SchemaNode.parse(z.toJSONSchema(Config, { io: 'input' }))
}

let root: SchemaNode | undefined

/** Made once, at the first use: a gateway without mistakes in its config never needs it. */
function rootNode(): SchemaNode {
  root ??= configJsonSchema()
  return root
}

export interface KnownKey {
  /** `workers[].probe.interval`. */
  path: string
  node: SchemaNode
  /** False for a section, which only holds other keys. */
  leaf: boolean
}

/** Every key of the config in the order of the schema, sections before what is in them. */
export function knownKeys(node = rootNode(), path = ''): KnownKey[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const here = childPath(path, key)
    const inner = child.properties === undefined ? child.items : child
    const suffix = child.properties === undefined ? '[]' : ''
    const below = inner?.properties === undefined ? [] : knownKeys(inner, here + suffix)
    return [{ path: here, node: child, leaf: below.length === 0 }, ...below]
  })
}

/** The schema of the place with these keys; undefined where the schema has no such place. */
export function nodeAt(keys: readonly PropertyKey[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = rootNode()
  for (const key of keys) node = node === undefined ? undefined : childNode(node, key)
  return node
}

/** The schema of one member of a place. */
export function childNode(node: SchemaNode, key: PropertyKey): SchemaNode | undefined {
  if (typeof key === 'number') return node.items
  const { additionalProperties: rest } = node
  return node.properties?.[String(key)] ?? (typeof rest === 'object' ? rest : undefined)
}

/** What an unknown key was probably meant to be, as a sentence; undefined if nothing is near. */
export function suggestKey(parent: readonly PropertyKey[], key: string): string | undefined {
  const siblings = Object.keys(nodeAt(parent)?.properties ?? {})
  const near = nearest(key, siblings)
  if (near !== undefined) return `did you mean "${near}"?`
  const elsewhere = knownKeys().find(({ path }) => path.split('.').at(-1) === key)
  return elsewhere === undefined ? undefined : `it belongs at ${elsewhere.path}`
}

/** The candidate with the fewest edits, if they are few for a word of that length. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = simplify(word)
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: editDistance(plain, simplify(candidate)) }))
    .toSorted((a, b) => a.edits - b.edits)
  const allowed = Math.ceil(plain.length / 3)
  return best !== undefined && best.edits <= allowed ? best.candidate : undefined
}

/** `maxConcurrent`, `max-concurrent` and `max_concurrent` are one word. */
const simplify = (word: string): string => word.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')

/** Levenshtein, row by row. Words are cut at 64 characters: no key is longer. */
function editDistance(a: string, b: string): number {
  const [left, right] = [a.slice(0, 64), b.slice(0, 64)]
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= right.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
