// Checks that need more than one key: names that must be unique, addresses that must differ, rules
// that lead nowhere. Pure; what this machine is called is an argument.

import { isLoopback, readListenAddress } from './address.ts'
import type { Problem } from './problem.ts'
import { childPath } from './problem.ts'
import type { SoundParts, SoundWorker } from './sound-parts.ts'

export interface Findings {
  problems: Problem[]
  warnings: Problem[]
}

/** `localHosts`: names and addresses of this machine besides loopback, in lower case. */
export function crossChecks(parts: SoundParts, localHosts: ReadonlySet<string>): Findings {
  return {
    problems: [
      ...sameListener(parts),
      ...parts.workers.flatMap((worker, index) => ownAddresses(parts, worker, index, localHosts)),
      ...parts.workers.flatMap(doubledHeaders),
      ...doubledNames(
        'workers',
        parts.workers.map(({ name }) => name),
      ),
      ...doubledNames('tenants', parts.tenantNames),
      ...doubledModels('aliases', Object.keys(parts.aliases)),
      ...parts.workers.flatMap(doubledModelKeys),
      ...aliasLoops(parts.aliases),
      ...sharedFiles(parts.stateFiles),
      ...breakerBounds(parts),
    ],
    warnings: [
      ...sharedAddresses(parts.workers),
      ...parts.workers.flatMap(apiSuffixes),
      ...parts.workers.flatMap((worker, index) => remoteGpu(worker, index, localHosts)),
      ...parts.fallbacks.flatMap((rule, index) => deadFallback(parts, rule, index)),
    ],
  }
}

function sameListener({ listen, opsListen }: SoundParts): Problem[] {
  const clients = readListenAddress(listen ?? '')
  const ops = readListenAddress(opsListen ?? '')
  if (clients === undefined || ops === undefined || clients.port === 0) return []
  if (clients.port !== ops.port || !overlap(clients.host, ops.host)) return []
  return [{ path: 'ops_listen', message: 'is the same address as "listen"' }]
}

const overlap = (a: string, b: string): boolean => a === b || isWildcard(a) || isWildcard(b)
const isWildcard = (host: string): boolean => /^(?:0\.0\.0\.0|::|\[::\])$/.test(host)

/** A gateway that is its own worker would ask itself until everything is used up. */
function ownAddresses(
  { listen, opsListen }: SoundParts,
  worker: SoundWorker,
  index: number,
  localHosts: ReadonlySet<string>,
): Problem[] {
  const listeners = [listen, opsListen].map((text) => readListenAddress(text ?? ''))
  return worker.addresses
    .filter(({ url }) => {
      const { hostname, port } = new URL(url)
      return listeners.some(
        (own) =>
          own !== undefined && String(own.port) === port && meets(hostname, own.host, localHosts),
      )
    })
    .map(({ key }) => ({
      path: `workers[${index}].${key}`,
      message: 'is the gateway’s own listener',
      suggestion: 'Ollama itself listens on port 11434',
    }))
}

function meets(hostname: string, listening: string, localHosts: ReadonlySet<string>): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (host === listening || (isWildcard(listening) && localHosts.has(host))) return true
  const here = isLoopback(host) || isWildcard(host)
  return here && (isLoopback(listening) || isWildcard(listening))
}

function doubledHeaders(worker: SoundWorker, index: number): Problem[] {
  const names = worker.headerNames.map((name) => name.toLowerCase())
  return worker.headerNames
    .filter((name, at) => names.indexOf(name.toLowerCase()) !== at)
    .map((name) => ({
      path: childPath(`workers[${index}].headers`, name),
      message: 'is the same header in another case',
    }))
}

function doubledNames(list: string, names: readonly (string | undefined)[]): Problem[] {
  const folded = names.map((name) => name?.normalize('NFC').toLowerCase())
  return folded.flatMap((name, index) => {
    const first = folded.indexOf(name)
    if (name === undefined || first === index) return []
    const message = `the name of ${list}[${first}] again; names are unique without case`
    return [{ path: `${list}[${index}].name`, message }]
  })
}

function doubledModelKeys({ modelKeys }: SoundWorker, index: number): Problem[] {
  return modelKeys.flatMap(({ key, patterns }) =>
    doubledModels(`workers[${index}].${key}`, patterns),
  )
}

/** JSON lets one model be written in two spellings; which of the values held would be luck. */
function doubledModels(path: string, patterns: readonly string[]): Problem[] {
  const keys = patterns.map((text) => (text.endsWith('*') ? text.toLowerCase() : aliasKey(text)))
  return patterns.flatMap((pattern, at) => {
    const first = patterns[keys.indexOf(keys[at] ?? '')]
    if (first === undefined || first === pattern) return []
    const message = `is the model of "${first}" too; only one of them can hold`
    return [{ path: childPath(path, pattern), message }]
  })
}

function aliasLoops(aliases: Readonly<Record<string, string>>): Problem[] {
  const next = new Map(
    Object.entries(aliases).map(([from, to]) => [aliasKey(from), aliasKey(to)] as const),
  )
  return Object.keys(aliases).flatMap((alias) => {
    const start = aliasKey(alias)
    const seen = new Set<string>()
    let at = next.get(start)
    while (at !== undefined && at !== start && !seen.has(at)) {
      seen.add(at)
      at = next.get(at)
    }
    if (at !== start) return []
    return [{ path: childPath('aliases', alias), message: 'leads back to itself' }]
  })
}

/** Ollama's own defaults: no case, and `:latest` where there is no tag. */
function aliasKey(name: string): string {
  const lower = name.toLowerCase()
  return lower.slice(lower.lastIndexOf('/') + 1).includes(':') ? lower : `${lower}:latest`
}

function sharedFiles(files: SoundParts['stateFiles']): Problem[] {
  const names = files.map(([, file]) => file)
  return files.flatMap(([key, file], index) => {
    const first = files[names.indexOf(file)]
    if (first === undefined || names.indexOf(file) === index) return []
    return [{ path: key, message: `is the same file as ${first[0]}` }]
  })
}

function breakerBounds({ breaker }: SoundParts): Problem[] {
  if (breaker === undefined || breaker.open <= breaker.max_open) return []
  return [{ path: 'upstream.breaker.max_open', message: 'must not be less than "open"' }]
}

function sharedAddresses(workers: readonly SoundWorker[]): Problem[] {
  const all = workers.flatMap(({ addresses }, worker) =>
    addresses.map(({ key, url }) => ({ path: `workers[${worker}].${key}`, url })),
  )
  return all.flatMap(({ path, url }, index) => {
    const first = all.find((other) => other.url === url)
    if (first === undefined || first === all[index]) return []
    const message = `is the address of ${first.path} too: its slots would be counted twice`
    return [{ path, message }]
  })
}

/** Base URLs of OpenAI clients end in /v1; a worker's address does not. It may hold a secret. */
function apiSuffixes(worker: SoundWorker, index: number): Problem[] {
  return worker.addresses.flatMap(({ key, url }) => {
    const suffix = /\/(?:v1|api)$/i.exec(url)?.[0]
    if (suffix === undefined) return []
    const suggestion = `write it without ${suffix}`
    const message = `ends in ${suffix}, which the gateway adds itself`
    return [{ path: `workers[${index}].${key}`, message, suggestion }]
  })
}

function remoteGpu(worker: SoundWorker, index: number, local: ReadonlySet<string>): Problem[] {
  const hosts = worker.addresses.map(({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, ''))
  const isHere = hosts.some((host) => isLoopback(host) || isWildcard(host) || local.has(host))
  if (!worker.nvidiaSmi || hosts.length === 0 || isHere) return []
  const message = 'reads the gateway’s own machine, and this worker is not on it'
  const suggestion = 'use "telemetry_url" for a worker elsewhere'
  return [{ path: `workers[${index}].nvidia_smi`, message, suggestion }]
}

function deadFallback(
  { workers }: SoundParts,
  rule: { model: string; use: string },
  index: number,
): Problem[] {
  const path = `fallbacks[${index}].use`
  if (aliasKey(rule.model) === aliasKey(rule.use)) return [{ path, message: 'is the model itself' }]
  const policies = workers.map(({ placement }) => placement)
  const nowhere = policies.every(
    (policy) =>
      policy?.mode === 'whitelist' &&
      !policy.allowed_models.some((pattern) => covers(pattern, rule.use)),
  )
  return nowhere && workers.length > 0 ? [{ path, message: 'no worker may run this model' }] : []
}

function covers(pattern: string, model: string): boolean {
  if (!pattern.endsWith('*')) return aliasKey(pattern) === aliasKey(model)
  return aliasKey(model).startsWith(pattern.slice(0, -1).toLowerCase())
}
