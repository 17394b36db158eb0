// Where a config says that state is, read without judging the rest of it. A backup is made in a
// shell that may lack the variables of the service, and a restore may be due because the config is
// broken elsewhere: only these parts have to be right.

import { z } from 'zod'
import { expandEnv } from './environment.ts'
import type { Env } from './environment.ts'
import { readJson } from './json-text.ts'
import type { Problem } from './problem.ts'
import { schemaProblems } from './schema-problems.ts'
import { Config } from './schema.ts'
import { storagePaths } from './storage-paths.ts'
import type { StoragePaths } from './storage-paths.ts'

export type WrittenStorage =
  | { ok: true; paths: StoragePaths }
  /** All that is wrong with `storage` and `audit`; never empty. */
  | { ok: false; problems: Problem[] }

const { storage, audit } = Config.shape
const Parts = z.object({ storage, audit })

/** `text` is the config as it is written; `{}` where there is no file. */
export function writtenStorage(text: string, env: Env): WrittenStorage {
  const json = readJson(text)
  if (!json.ok) return { ok: false, problems: [json.problem] }
  const { value, problems } = expandEnv(json.value, env)
  const unset = problems.filter(({ path }) => /^(?:storage|audit)\b/.test(path))
  if (unset.length > 0) return { ok: false, problems: unset }
  const parsed = Parts.safeParse(value)
  if (parsed.success) return { ok: true, paths: storagePaths(parsed.data, env) }
  return { ok: false, problems: schemaProblems(parsed.error.issues, value) }
}
