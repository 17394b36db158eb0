// --watch: prints a result again whenever it changed, until Ctrl-C. On a terminal each print
// replaces the one before; into a pipe they follow each other, as JSON one document a line.

import type { AdminError } from '../gateway/contract/faults.ts'
import type { CliContext } from './context.ts'
import { CliError } from './exit-codes.ts'
import type { Human } from './output.ts'

/** Fields that differ from one moment to the next although nothing changed. */
const VOLATILE = new Set([
  'age_ms',
  'uptime_s',
  'now_mono',
  'mono',
  'tags_read_mono',
  'ps_read_mono',
  'next_probe_mono',
])

export interface Followed<T> {
  read(): Promise<T>
  human(value: T): Human
}

/** Prints once, or with `watch` again and again; then it ends only by an error or Ctrl-C. */
export async function printOrFollow<T>(
  context: CliContext,
  watch: boolean,
  followed: Followed<T>,
): Promise<void> {
  if (!watch) {
    const value = await followed.read()
    context.print(value, followed.human(value))
    return
  }
  await follow(context, followed)
}

async function follow<T>(context: CliContext, followed: Followed<T>): Promise<void> {
  const signal = context.io.interrupted()
  const changes = new Changes()
  const stop = new AbortController()
  const watching = context
    .admin()
    .watch(
      { onSnapshot: () => changes.mark(), onError: (error) => changes.fail(error) },
      AbortSignal.any([signal, stop.signal]),
    )
  signal.addEventListener('abort', () => changes.fail(new CliError('interrupted', 'interrupted')), {
    once: true,
  })
  let last: string | undefined
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- each round answers to one change
      await changes.next()
      // oxlint-disable-next-line no-await-in-loop -- a slow answer must not be overtaken
      const value = await followed.read()
      const text = JSON.stringify(value, (key, field: unknown) =>
        VOLATILE.has(key) ? undefined : field,
      )
      if (text === last) continue
      show(context, value, followed.human(value), last === undefined)
      last = text
    }
  } finally {
    stop.abort()
    await watching
  }
}

const HOME_AND_CLEAR = '\u001b[H\u001b[J'

function show(context: CliContext, value: unknown, human: Human, first: boolean): void {
  const { stdout, env } = context.io
  if (!context.options.json) {
    const redraws = stdout.isTTY === true && env['TERM'] !== 'dumb'
    if (redraws) stdout.write(HOME_AND_CLEAR)
    else if (!first) stdout.write('\n')
  }
  context.printLine(value, human)
}

/** Several changes that nobody waited for are one. */
class Changes {
  #marked = false
  #error: AdminError | CliError | undefined
  #wake: (() => void) | undefined

  mark(): void {
    this.#marked = true
    this.#wake?.()
  }

  fail(error: AdminError | CliError): void {
    this.#error ??= error
    this.#wake?.()
  }

  async next(): Promise<void> {
    if (!this.#marked && this.#error === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
      this.#wake = undefined
    }
    if (this.#error !== undefined) throw this.#error
    this.#marked = false
  }
}
