// Writes docs/admin-api.md from the table of operations and their shapes.

import { z } from 'zod'
import { FAULT_STATUS } from '../../src/gateway/contract/faults.ts'
import { type OperationName, operations } from '../../src/gateway/contract/operations.ts'
import { shapes } from '../../src/gateway/contract/schema.ts'

const INTRO = `# Admin API

Made from the table of operations by \`npm run docs\`; do not edit.

HTTP and JSON over the admin socket of a running gateway: \`curl --unix-socket PATH http://ogw/v1/status\`.
Reads are GET with the input as query parameters, changes POST with it as a JSON body. A change says what it
did; with \`dry_run\` it only says what it would do. What may be missing in an answer is \`null\`; a newer
gateway may add fields. Answers that stream are one JSON document a line.

A failure has a status and \`{"error":{"code","message","details"}}\`: ${faults()}.
`

export function adminDocs(): string {
  const names = Object.keys(operations) as OperationName[]
  return [INTRO, ...names.map(section)].join('\n')
}

function faults(): string {
  return Object.entries(FAULT_STATUS)
    .map(([code, status]) => `\`${code}\` ${status}`)
    .join(', ')
}

function section(name: OperationName): string {
  const { method, path, stream, summary } = operations[name]
  const input = typeOf(schemaOf(shapes[name].input, 'input'), '')
  const answer = typeOf(schemaOf(shapes[name].output, 'output'), '')
  return [
    `## ${name}\n`,
    `\`${method} ${path}\`: ${summary}\n`,
    '```ts',
    ...(input === '{}' ? [] : [`input: ${input}`]),
    `${stream ? 'each line' : 'answer'}: ${answer}`,
    '```\n',
  ].join('\n')
}

/** The parts of JSON Schema that zod writes for these shapes. */
interface Schema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  description?: string
}

function schemaOf(shape: z.ZodType, io: 'input' | 'output'): Schema {
  // What zod writes is JSON Schema, of which `Schema` names the parts that occur.
  return z.toJSONSchema(shape, { io, unrepresentable: 'any', reused: 'inline' }) as Schema
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(' | ')
  const any = schema.anyOf ?? schema.oneOf
  if (any !== undefined) return [...new Set(any.map((one) => typeOf(one, indent)))].join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map((one) => typeOf(one, indent)).join(' & ')
  if (schema.type === 'array') return `(${typeOf(schema.items ?? {}, indent)})[]`
  if (schema.type === 'object') return objectOf(schema, indent)
  return [schema.type ?? 'unknown'].flat().join(' | ')
}

function objectOf({ properties = {}, required = [], ...rest }: Schema, indent: string): string {
  const deeper = `${indent}  `
  const lines = Object.entries(properties).flatMap(([key, schema]) => [
    ...(schema.description === undefined ? [] : [`${deeper}// ${schema.description}`]),
    `${deeper}${key}${required.includes(key) ? '' : '?'}: ${typeOf(schema, deeper)}`,
  ])
  const values = rest.additionalProperties
  if (lines.length === 0 && typeof values === 'object') {
    return `{ [name]: ${typeOf(values, indent)} }`
  }
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${indent}}`
}
