// Every file in which the gateway keeps state, in one table: what it holds, and how its content is
// judged. The list of `ogw storage`, backups, restores and a test of all versions read it.

import { creditsForm } from './credits-state.ts'
import { readText } from './document-form.ts'
import type { DocumentForm } from './document-form.ts'
import { keysForm } from './keys-state.ts'
import { LINE_VERSION, versionOfLast } from './line-version.ts'
import { placementForm } from './placement-document.ts'
import { tenantsForm } from './tenants-state.ts'
import { performanceForm } from './worker-performance.ts'
import { workersForm } from './workers-state.ts'

/** The keys under `storage`, and `audit_file`. */
export type StateRole =
  | 'model_placement_file'
  | 'placement_history_file'
  | 'worker_performance_file'
  | 'workers_file'
  | 'keys_file'
  | 'tenants_file'
  | 'credits_file'
  | 'usage_file'
  | 'audit_file'

/** Absolute paths; null where the file is switched off. */
export type StatePlaces = Readonly<Record<StateRole, string | null> & { dir: string }>

export interface StateFileKind {
  holds: string
  /** The file's name in a backup, whatever the config calls it. */
  name: string
  /** `document`: one JSON, replaced whole. `lines`: JSON lines, appended to. */
  kind: 'document' | 'lines'
  /** What may follow the name in files that belong to it. */
  beside?: RegExp
  judge: Judge
}

/** What is to be said of a content before a gateway starts with it. */
export interface Judgement {
  /** Null where the content says none. */
  version: number | null
  /** Why a gateway of this version would not start with it, or null. */
  problem: string | null
}

/** `text` is the whole of a document, and the end of lines. */
export type Judge = (text: string) => Judgement

/** In the order in which a backup takes them: a history may be ahead of its document, not behind. */
export const STATE_FILES: Readonly<Record<StateRole, StateFileKind>> = {
  model_placement_file: {
    holds: 'placement overrides that operators set',
    name: 'model-placement.json',
    ...document(placementForm),
  },
  placement_history_file: {
    holds: 'every placement edit, for history and undo',
    name: 'placement-history.jsonl',
    beside: /^\.broken$/,
    ...versionedLines(),
  },
  worker_performance_file: {
    holds: 'learned token rates per worker and model',
    name: 'worker-performance.json',
    ...document(performanceForm),
  },
  workers_file: {
    holds: 'workers that operators are draining',
    name: 'workers.json',
    ...document(workersForm),
  },
  keys_file: {
    holds: 'keys of clients, hashed',
    name: 'keys.json',
    ...document(keysForm),
  },
  tenants_file: {
    holds: 'tenant settings that operators changed',
    name: 'tenants.json',
    ...document(tenantsForm),
  },
  credits_file: {
    holds: 'credits spent in the current windows',
    name: 'credits.json',
    ...document(creditsForm),
  },
  usage_file: {
    holds: 'tokens by tenant, actor and model, for 90 days',
    name: 'usage.jsonl',
    ...versionedLines(),
  },
  audit_file: {
    holds: 'who changed what',
    name: 'audit.jsonl',
    beside: /^\.[1-9]\d{0,3}$/,
    kind: 'lines',
    // Only ever appended to and rotated: a line of a newer ogw is left alone and lost by nobody.
    judge: () => ({ version: null, problem: null }),
  },
}

// Object.keys widens the keys of the table.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table has no other keys
export const STATE_ROLES = Object.keys(STATE_FILES) as readonly StateRole[]

function document<T>(form: DocumentForm<T>): Pick<StateFileKind, 'kind' | 'judge'> {
  return {
    kind: 'document',
    judge(text) {
      const read = readText(text, form)
      if (read.ok) return { version: read.version, problem: null }
      if ('newer' in read) return { version: read.newer, problem: newer(read.newer, read.newest) }
      return { version: null, problem: `it is broken: ${read.broken}` }
    },
  }
}

function versionedLines(): Pick<StateFileKind, 'kind' | 'judge'> {
  return {
    kind: 'lines',
    judge(text) {
      const version = versionOfLast(text) ?? null
      const known = version === null || version <= LINE_VERSION
      return { version, problem: known ? null : newer(version, LINE_VERSION) }
    },
  }
}

function newer(version: number, newest: number): string {
  return `it was written by a newer ogw: it has version ${version}, this one knows ${newest}`
}
