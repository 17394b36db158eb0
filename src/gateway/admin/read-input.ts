// Reads and checks what a caller passes: query parameters of reads, JSON bodies of changes.

import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { AdminError } from '../contract/faults.ts'
import { operations } from '../contract/operations.ts'
import type { OperationName } from '../contract/operations.ts'
import { shapes } from '../contract/schema.ts'

/** A placement file of 1,000 workers with 100 rules each is a tenth of it. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024

/** The checked input of an operation. Throws AdminError invalid_input with every problem in it. */
export async function readInput(
  name: OperationName,
  query: URLSearchParams,
  req: IncomingMessage,
): Promise<unknown> {
  const raw = operations[name].method === 'GET' ? fromQuery(query) : await fromBody(req)
  const parsed = shapes[name].input.safeParse(raw)
  if (parsed.success) return parsed.data
  throw invalid(
    `${name}: ${parsed.error.issues.map(issueText).join('; ')}`,
    `see docs/admin-api.md for what ${name} takes`,
  )
}

/** Own entries only, also for a parameter that is called `__proto__`. */
function fromQuery(query: URLSearchParams): unknown {
  const names = [...query.keys()]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw invalid(`the parameter "${twice}" is given twice`, 'give it once')
  return Object.fromEntries(query)
}

async function fromBody(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_INPUT_BYTES) {
      throw invalid(`the input is larger than ${MAX_INPUT_BYTES} bytes`, 'split it')
    }
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  if (text === '') return {}
  try {
    return JSON.parse(text)
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw invalid(`the input is not JSON: ${detail}`, 'send one JSON object')
  }
}

function issueText(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.')
  return place === '' ? issue.message : `${place}: ${issue.message}`
}

function invalid(what: string, todo: string): AdminError {
  return new AdminError({ code: 'invalid_input', message: `${what} (${todo})` })
}
