// Which workers operators are draining: a drain outlives a restart.

import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { Document } from './document.ts'
import type { DocumentForm } from './document-form.ts'
import { Turns } from './turns.ts'

const Draining = z.strictObject({ worker: z.string().min(1), at: z.string(), actor: z.string() })
export type Draining = z.infer<typeof Draining>

const WorkersDocument = z.strictObject({
  version: z.literal(1),
  revision: z.int().min(0),
  draining: z.array(Draining),
})
type WorkersDocument = z.infer<typeof WorkersDocument>

export const workersForm: DocumentForm<WorkersDocument> = {
  schema: WorkersDocument,
  empty: { version: 1, revision: 0, draining: [] },
  remedy: 'move it away to start with no worker draining',
}

export interface WorkersDeps {
  clock: Clock
  /** Tells the fleet; called after it is on disk. */
  drain(worker: string, draining: boolean): void
}

export class WorkersState {
  readonly #deps: WorkersDeps
  readonly #document: Document<WorkersDocument>
  readonly #changes = new Turns()
  #lastActor = ''

  /** Throws StartError where the file is broken. */
  constructor(file: string, deps: WorkersDeps) {
    this.#deps = deps
    this.#document = new Document({
      file,
      ...workersForm,
    })
  }

  get revision(): number {
    return this.#document.value.revision
  }

  get error(): string | undefined {
    return this.#document.error
  }

  /** Who changed the document last in this run; empty before anybody did. */
  get lastActor(): string {
    return this.#lastActor
  }

  draining(worker: string): Draining | undefined {
    return this.#document.value.draining.find((entry) => entry.worker === worker)
  }

  /** Tells the fleet every drain; to be called after the start and after each new config. */
  drainAll(): void {
    for (const { worker } of this.#document.value.draining) this.#deps.drain(worker, true)
  }

  /**
   * Drains or resumes the workers as one change; `check` sees the newest state and may throw.
   * Resolves with those for which it was not so already.
   */
  change(
    workers: readonly string[],
    { actor, draining, check }: { actor: string; draining: boolean; check(): void },
  ): Promise<string[]> {
    return this.#changes.take(async () => {
      check()
      const changed = workers.filter((name) => (this.draining(name) !== undefined) !== draining)
      if (changed.length > 0) await this.#save(changed, actor, draining)
      return changed
    })
  }

  async #save(changed: readonly string[], actor: string, draining: boolean): Promise<void> {
    const at = new Date(this.#deps.clock.now()).toISOString()
    const before = this.#document.value
    const kept = before.draining.filter(({ worker }) => !changed.includes(worker))
    const added = draining ? changed.map((worker) => ({ worker, at, actor })) : []
    await this.#document.save({
      version: 1,
      revision: before.revision + 1,
      draining: [...kept, ...added],
    })
    this.#lastActor = actor
    for (const worker of changed) this.#deps.drain(worker, draining)
  }
}
