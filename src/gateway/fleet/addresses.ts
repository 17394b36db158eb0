// One probe of one address, and one round through a worker's addresses: from the top, one after
// the other, until one answers. Candidates are declared in the config, never discovered, and never
// balanced.

import { isIP } from 'node:net'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { WorkerConfig } from '../config/schema.ts'
import type { ProbeResult } from './fleet-event.ts'
import { callWorker, describeFault } from './worker-api.ts'
import type { Resolve, Target, WorkerAnswer } from './worker-api.ts'
import type { Address } from './worker.ts'

const DEFAULT_PATH = '/api/version'

/** A version is a dozen bytes; whoever sends more is not an Ollama. */
const MAX_PROBE_BYTES = 65_536

const VersionAnswer = z.object({ version: z.string().min(1).max(200) })

export interface ProbeDeps {
  clock: Clock
  resolve: Resolve
}

/** One cheap GET on a connection of its own; the timeout covers name, connection and answer. */
export async function probe(
  deps: ProbeDeps,
  config: WorkerConfig,
  address: Address,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const { path, timeout } = config.probe
  const started = deps.clock.mono()
  const resolved = await resolveWithin(deps, address, timeout, signal)
  if (!resolved.ok) return resolved
  const target: Target = { url: address.url, ips: resolved.ips, config }
  const timeoutMs = Math.max(1, timeout - (deps.clock.mono() - started))
  const call = { method: 'GET', path, timeoutMs, maxBytes: MAX_PROBE_BYTES, signal } as const
  const result = judge(config, await callWorker(deps.clock, target, call))
  return result.ok ? { ...result, tookMs: deps.clock.mono() - started } : result
}

function judge(
  { probe: { path, accept_status } }: WorkerConfig,
  answer: WorkerAnswer,
): ProbeResult {
  if (!answer.ok) return answer
  const { status, body, ip } = answer
  if (!accept_status.includes(status)) {
    return { ok: false, error: `answered ${status} to GET ${path}` }
  }
  if (path !== DEFAULT_PATH) return { ok: true, ip, version: undefined }
  const version = VersionAnswer.safeParse(jsonOf(body))
  if (!version.success) return { ok: false, error: `no version in the answer to GET ${path}` }
  return { ok: true, ip, version: version.data.version }
}

/** The value of a JSON body; undefined where it is none. */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body)) // which passes over a byte order mark
  } catch {
    return undefined // an HTML page or a cut answer: the schema says that it does not fit
  }
}

type Resolved = { ok: true; ips: readonly string[] } | { ok: false; error: string }

/**
 * The IPs of the address's host as they are now. The one that answered last stays first as long
 * as the name still has it: a name with several IPs is not a move with every probe.
 */
async function resolveWithin(
  { clock, resolve }: ProbeDeps,
  { url, ip }: Address,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Resolved> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return { ok: true, ips: [host] }
  const { promise: stopped, resolve: stop } = Promise.withResolvers<Resolved>()
  const onAbort = () => stop({ ok: false, error: 'the call was given up' })
  const timer = clock.after(timeoutMs, () =>
    stop({ ok: false, error: `${host} was not resolved within ${timeoutMs} ms` }),
  )
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([stopped, resolved(resolve, host, ip)])
  } finally {
    timer.cancel()
    signal.removeEventListener('abort', onAbort)
  }
}

async function resolved(resolve: Resolve, host: string, last: string | undefined) {
  try {
    const ips = await resolve(host)
    if (ips.length === 0) return { ok: false, error: `${host} has no address` } as const
    const kept = ips.filter((ip) => ip === last)
    return { ok: true, ips: [...kept, ...ips.filter((ip) => ip !== last)] } as const
  } catch (error) {
    return { ok: false, error: `${host}: ${describeFault(error)}` } as const
  }
}

export interface RoundResult {
  /** The first address that answered. */
  answered: string | undefined
  /** Why each of the others did not. */
  error: string
}

/** Goes through the addresses in order. `each` hears every result before the next address is tried. */
export async function probeRound(
  deps: ProbeDeps,
  config: WorkerConfig,
  addresses: readonly Address[],
  round: { signal: AbortSignal; each: (url: string, result: ProbeResult) => void },
): Promise<RoundResult> {
  const errors: string[] = []
  for (const address of addresses) {
    const result = await probe(deps, config, address, round.signal)
    if (round.signal.aborted) break
    round.each(address.url, result)
    if (result.ok) return { answered: address.url, error: '' }
    errors.push(`${address.url}: ${result.error}`)
  }
  return { answered: undefined, error: errors.join('; ') }
}
