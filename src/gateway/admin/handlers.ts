// What the gateway side of the contract has to provide: one function per operation.

import type { OperationName, StreamName } from '../contract/operations.ts'
import type { OutputOf, ParsedInputOf } from '../contract/schema.ts'

/** What a change did, for the audit log. */
export interface ChangeNote {
  /** False where it was so already. */
  changed: boolean
  before: unknown
  after: unknown
  message: string
}

/** Who asks. */
export interface Caller {
  /** The client's own claim, as in `root@pts/3`; a unix socket of Node cannot verify it. */
  readonly actor: string
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
  /** Tells the audit log what a change did. Each change that was made calls it once. */
  note(change: ChangeNote): void
}

/** Leaving an operation out does not compile. */
export type Handlers = {
  [N in OperationName]: (
    input: ParsedInputOf<N>,
    caller: Caller,
  ) => N extends StreamName ? AsyncIterable<OutputOf<N>> : Promise<OutputOf<N>> | OutputOf<N>
}
