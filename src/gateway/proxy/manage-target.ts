// Which workers a management request is for, and whether placement lets it. Pure.

import { permitModel } from '../access/visitor.ts'
import type { Visitor } from '../access/visitor.ts'
import { foldKey } from '../dialects/json-fields.ts'
import type { JsonRecord } from '../dialects/json-fields.ts'
import { GatewayError } from '../errors.ts'
import type { Worker } from '../fleet/worker.ts'
import { parseModelName } from '../policy/model-name.ts'
import { decidePlacement, describeVerdict } from '../policy/placement.ts'
import type { ManagementRoute } from './routes.ts'

export const TARGET_HEADER = 'x-ogw-worker'

/** The one there is, the one named, or all. Throws GatewayError invalid_request or not_found. */
export function targetsOf(
  workers: readonly Worker[],
  header: string | string[] | undefined,
): readonly Worker[] {
  const text = typeof header === 'string' ? decoded(header.trim()) : ''
  if (text === '' && workers.length === 1) return workers
  if (text.toLowerCase() === 'all') return workers
  const named = workers.find(({ name }) => name.toLowerCase() === text.toLowerCase())
  if (named !== undefined) return [named]
  const names = workers.map(({ name }) => name).slice(0, 20)
  const which = `say which worker with the header ${TARGET_HEADER}: ${names.join(', ')} or all`
  if (text === '') throw new GatewayError({ code: 'invalid_request', detail: which })
  throw new GatewayError({ code: 'invalid_request', detail: `there is no such worker; ${which}` })
}

/** Names of any script come percent-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a stray percent sign: no worker has one in its name
  }
}

const NAMING = new Set(['model', 'name', 'source', 'destination'])
/** These put a model on a worker's disk under a name. */
const PUTS: Readonly<Partial<Record<ManagementRoute, readonly string[]>>> = {
  pull: ['model', 'name'],
  create: ['model', 'name'],
  copy: ['destination'],
}

/** Throws GatewayError: the visitor's model list, or placement on one of the workers, forbids it. */
export function permitManagement(
  route: ManagementRoute,
  body: JsonRecord,
  { visitor, targets }: { visitor: Visitor; targets: readonly Worker[] },
): void {
  for (const [field, text] of namesIn(body)) {
    const parsed = parseModelName(text)
    if (!parsed.ok) throw new GatewayError({ code: 'invalid_request', detail: parsed.reason })
    const { name } = parsed
    permitModel(visitor, name)
    if (PUTS[route]?.includes(field) !== true) continue
    const blocked = targets.flatMap(({ name: worker, placement }) => {
      const verdict = decidePlacement(placement, name.key, name)
      return verdict.allowed ? [] : [{ worker, reason: describeVerdict(verdict) }]
    })
    if (blocked.length === 0) continue
    throw new GatewayError({ code: 'model_blocked', model: name.display, workers: blocked })
  }
}

/** Every spelling that Ollama would read; one key twice in another case is refused. */
function namesIn(body: JsonRecord): [field: string, text: string][] {
  const found = new Map<string, string>()
  for (const [key, value] of Object.entries(body)) {
    const folded = foldKey(key)
    if (!NAMING.has(folded)) continue
    if (found.has(folded)) {
      throw new GatewayError({ code: 'invalid_request', detail: `"${folded}" is there twice` })
    }
    if (typeof value === 'string') found.set(folded, value)
  }
  return [...found].filter(([, text]) => text !== '')
}
