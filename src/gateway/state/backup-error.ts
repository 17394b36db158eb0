// How a backup or a restore says no: one sentence on what is wrong and where, and what to do.

export type BackupErrorKind =
  /** The file is no whole, unchanged backup. */
  | 'damaged'
  /** It needs another ogw, another user or another moment. */
  | 'refused'
  /** There is no such file or folder. */
  | 'not_found'
  /** The disk, or something else that was tried, failed. */
  | 'failed'

/** Nothing was changed, unless the message says otherwise. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
  readonly kind: BackupErrorKind

  constructor(kind: BackupErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}
