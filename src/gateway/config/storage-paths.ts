// Where each state file is. The folder follows systemd's and the XDG rules; nothing is created.

import { homedir } from 'node:os'
import path from 'node:path'
import type { Env } from './environment.ts'
import type { Config, StorageConfig } from './schema.ts'

type StateFile = Exclude<keyof StorageConfig, 'dir'>

/** Absolute paths, by the config's own keys. */
export type StoragePaths = Record<'dir' | StateFile, string> & {
  /** Null where the audit log is off. */
  audit_file: string | null
}

/** `uid` 0 is root; the default is that of this process. */
export function storagePaths(
  config: Pick<Config, 'storage' | 'audit'>,
  env: Env,
  uid = process.getuid?.(),
): StoragePaths {
  const { dir: configured, ...files } = config.storage
  const dir = path.resolve(configured ?? stateDir(env, uid))
  const inDir = (file: string): string => path.resolve(dir, file)
  return {
    dir,
    model_placement_file: inDir(files.model_placement_file),
    placement_history_file: inDir(files.placement_history_file),
    worker_performance_file: inDir(files.worker_performance_file),
    workers_file: inDir(files.workers_file),
    keys_file: inDir(files.keys_file),
    tenants_file: inDir(files.tenants_file),
    credits_file: inDir(files.credits_file),
    usage_file: inDir(files.usage_file),
    audit_file: config.audit.file === null ? null : inDir(config.audit.file),
  }
}

function stateDir(env: Env, uid: number | undefined): string {
  // systemd gives a list where a unit has several folders; the first is the service's own.
  const [given] = (env['STATE_DIRECTORY'] ?? '').split(':')
  if (given) return given
  const stateHome = env['XDG_STATE_HOME']
  if (stateHome) return path.join(stateHome, 'ogw')
  if (uid === 0) return '/var/lib/ogw'
  return path.join(env['HOME'] || homedir(), '.local', 'state', 'ogw')
}
