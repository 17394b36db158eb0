// Failures of `ogw backup` as those of a command, with their exit codes.

import { BackupError } from '../gateway/state/backup-error.ts'
import { CliError } from './exit-codes.ts'
import type { ExitName } from './exit-codes.ts'

const EXITS: Readonly<Record<BackupError['kind'], ExitName>> = {
  damaged: 'refused',
  refused: 'refused',
  not_found: 'notFound',
  failed: 'failed',
}

/** Rejects with CliError where `act` does with BackupError. */
export async function worded(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof BackupError)) throw error
    throw new CliError(EXITS[error.kind], error.message, { cause: error })
  }
}
