// A state folder with a config, as a gateway leaves them, and what a restore makes of it.

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Places } from '../../src/gateway/state/backup-sources.ts'
import { openBackup } from '../../src/gateway/state/backup-verify.ts'
import { writeBackup } from '../../src/gateway/state/backup.ts'
import type { MadeBackup } from '../../src/gateway/state/backup.ts'
import type { Disk } from '../../src/gateway/state/disk.ts'
import { planRestore } from '../../src/gateway/state/restore-plan.ts'
import { restore } from '../../src/gateway/state/restore.ts'
import type { Restored } from '../../src/gateway/state/restore.ts'
import { STATE_FILES, STATE_ROLES } from '../../src/gateway/state/state-files.ts'
import type { StateRole } from '../../src/gateway/state/state-files.ts'
import { stateSample } from './state-sample.ts'

export interface StateFolder extends Disposable {
  folder: string
  dir: string
  places: Places
  fileOf(role: StateRole): string
  /** All of it as the sample of that revision, and the config with it. */
  fill(revision: number): void
  /** By name, without what restores leave: state as it would be read by a gateway. */
  content(): Record<string, string>
  backUp(name?: string): Promise<MadeBackup & { file: string }>
}

export const FACTS = { ogwVersion: '0.1.0', host: 'box', now: new Date('2026-05-01T12:00:00Z') }

export function stateFolder(
  folder: string = mkdtempSync(path.join(tmpdir(), 'ogw-backup-')),
): StateFolder {
  const dir = path.join(folder, 'state')
  mkdirSync(dir, { recursive: true })
  const places = placesIn(folder)
  const fileOf = (role: StateRole): string => path.join(dir, STATE_FILES[role].name)
  return {
    folder,
    dir,
    places,
    fileOf,
    fill(revision) {
      const sample = stateSample(revision)
      for (const role of STATE_ROLES) writeFileSync(fileOf(role), sample[role])
      writeFileSync(path.join(folder, 'config.json'), configText(revision, folder))
    },
    content: () => ({
      ...contentOf(dir, (name) => !name.startsWith('before-restore-')),
      'config.json': readFileSync(path.join(folder, 'config.json'), 'utf8'),
    }),
    async backUp(name = 'backup.zip') {
      const file = path.join(folder, name)
      return { ...(await writeBackup({ places, ...FACTS }, { file })), file }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function placesIn(folder: string): Places {
  const dir = path.join(folder, 'state')
  const files = STATE_ROLES.map((role) => [role, path.join(dir, STATE_FILES[role].name)] as const)
  return {
    config: path.join(folder, 'config.json'),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each role
    state: { dir, ...Object.fromEntries(files) } as unknown as Places['state'],
  }
}

export interface RestoreOptions {
  withConfig?: boolean
  disk?: Disk
  now?: Date
  assertStopped?: () => Promise<void>
}

export async function restoreFile(
  places: Places,
  file: string,
  { withConfig = false, disk, now = FACTS.now, assertStopped }: RestoreOptions = {},
): Promise<Restored> {
  await using backup = await openBackup(file)
  const changes = await planRestore(backup, places, { withConfig })
  return await restore({
    backup,
    places,
    changes,
    actor: 'anna@cli',
    ...FACTS,
    now,
    assertStopped: assertStopped ?? (() => Promise.resolve()),
    ...(disk !== undefined && { disk }),
  })
}

/** Every file by its name. */
export function contentOf(
  dir: string,
  wanted: (name: string) => boolean = () => true,
): Record<string, string> {
  const names = readdirSync(dir).filter(wanted).toSorted()
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(path.join(dir, name), 'latin1')]),
  )
}

/** A gateway starts with it where NODE1_TOKEN is set. */
function configText(revision: number, folder: string): string {
  const headers = { authorization: 'Bearer ${NODE1_TOKEN}' }
  const worker = { name: 'node-1', url: 'http://127.0.0.1:9', why: `revision ${revision}`, headers }
  const config = {
    listen: '127.0.0.1:0',
    ops_listen: null,
    admin: { socket: path.join(folder, 'admin.sock') },
    storage: { dir: path.join(folder, 'state') },
    workers: [{ ...worker, probe: { interval: 'off' } }],
  }
  return `${JSON.stringify(config)}\n`
}
