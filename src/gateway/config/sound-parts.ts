// The parts of a written config that are right by themselves, each parsed alone. The checks across
// parts look at these, so that one mistake somewhere hides no other.

import type { z } from 'zod'
import { valueAt } from './schema-problems.ts'
import { readWorkerAddress } from './address.ts'
import type { AuthConfig, FallbackConfig, PlacementPolicy } from './schema.ts'
import { Config } from './schema.ts'
import { WorkerInput } from './worker-schema.ts'

export interface SoundParts {
  listen: string | undefined
  opsListen: string | null | undefined
  authMode: AuthConfig['mode'] | undefined
  workers: SoundWorker[]
  aliases: Readonly<Record<string, string>>
  fallbacks: readonly FallbackConfig[]
  /** Key of `storage` or `audit.file` → path of the file. */
  stateFiles: [key: string, file: string][]
  breaker: { open: number; max_open: number } | undefined
  tenantNames: (string | undefined)[]
}

export interface SoundWorker {
  name: string | undefined
  /** Path within the worker, and the address without credentials. */
  addresses: { key: string; url: string }[]
  placement: PlacementPolicy | undefined
  /** The maps by model, with their keys as written. */
  modelKeys: { key: string; patterns: string[] }[]
  nvidiaSmi: boolean
  /** As written: the case of names has not been changed yet. */
  headerNames: string[]
}

export function soundParts(raw: unknown): SoundParts {
  const at = <T extends z.ZodType>(schema: T, ...keys: string[]) =>
    sound(schema, valueAt(raw, keys))
  const { shape } = Config
  const storage = at(shape.storage, 'storage') ?? {}
  const auditFile = at(shape.audit, 'audit')?.file
  return {
    listen: at(shape.listen, 'listen'),
    opsListen: at(shape.ops_listen, 'ops_listen'),
    authMode: at(shape.auth.unwrap().shape.mode, 'auth', 'mode'),
    workers: listAt(raw, 'workers').map(soundWorker),
    aliases: at(shape.aliases, 'aliases') ?? {},
    fallbacks: at(shape.fallbacks, 'fallbacks') ?? [],
    stateFiles: [
      ...Object.entries(storage).flatMap(([key, file]) =>
        key === 'dir' ? [] : namedFile(`storage.${key}`, file),
      ),
      ...namedFile('audit.file', auditFile),
    ],
    breaker: at(shape.upstream, 'upstream')?.breaker,
    tenantNames: listAt(raw, 'tenants').map((tenant) => textAt(tenant, 'name')),
  }
}

function soundWorker(raw: unknown): SoundWorker {
  const { shape } = WorkerInput
  const url = textAt(raw, 'url')
  const written = [
    ...(url === undefined ? [] : [{ key: 'url', text: url }]),
    ...listAt(raw, 'urls').map((text, index) => ({ key: `urls[${index}]`, text: String(text) })),
  ]
  return {
    name: sound(shape.name, valueAt(raw, ['name'])),
    addresses: written.flatMap(({ key, text }) => {
      const address = readWorkerAddress(text)
      return address.ok ? [{ key, url: address.url }] : []
    }),
    placement: sound(shape.model_placement, valueAt(raw, ['model_placement'])),
    modelKeys: ['model_concurrency', 'context_limits'].map((key) => ({
      key,
      patterns: Object.keys(valueAt(raw, [key]) ?? {}),
    })),
    nvidiaSmi: valueAt(raw, ['nvidia_smi']) === true,
    headerNames: Object.keys(valueAt(raw, ['headers']) ?? {}),
  }
}

function namedFile(key: string, file: unknown): [key: string, file: string][] {
  return typeof file === 'string' ? [[key, file]] : []
}

function sound<T extends z.ZodType>(schema: T, value: unknown): z.output<T> | undefined {
  const parsed = schema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

function listAt(raw: unknown, key: string): unknown[] {
  const value = valueAt(raw, [key])
  return Array.isArray(value) ? value : []
}

function textAt(raw: unknown, key: string): string | undefined {
  const value = valueAt(raw, [key])
  return typeof value === 'string' ? value : undefined
}
