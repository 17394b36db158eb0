// What a request holds while it runs: a runner with its model, and one of the runner's permits.

import type { Job } from './job.ts'
import type { SimModel } from './models.ts'
import type { RunOptions } from './options.ts'
import { StreamBroken } from './reply.ts'
import type { Runner } from './runner.ts'
import type { Exchange } from './sim.ts'

interface Wanted {
  model: SimModel
  options: RunOptions
  job: Pick<Job, 'shift' | 'keepAliveMs'>
}

/** Holds a runner while the work lasts; it counts as used even while it waits for a permit. */
export async function withRunner(
  exchange: Exchange,
  { model, options, job }: Wanted,
  work: (runner: Runner) => Promise<void>,
): Promise<void> {
  const { sim, seen, signal } = exchange
  const runner = await sim.scheduler.acquire({
    id: seen.id,
    model,
    numCtx: options.numCtx,
    shift: job.shift,
    keepAliveMs: job.keepAliveMs,
    signal,
  })
  try {
    await work(runner)
  } finally {
    sim.scheduler.release(runner)
  }
}

/** Waits, silently, for one of the runner's permits. The signal is aborted when the runner dies. */
export async function withPermit(
  exchange: Exchange,
  runner: Runner,
  work: (running: AbortSignal) => Promise<void>,
): Promise<void> {
  const { sim, seen, signal, strikes } = exchange
  const tell = (name: 'slot-wait' | 'slot-taken' | 'slot-freed'): void =>
    sim.events.emit({ name, at: sim.clock.now(), requestId: seen.id, model: runner.model.name })
  tell('slot-wait')
  const giveBack = await runner
    .permit(AbortSignal.any([signal, runner.death.signal]))
    .catch(died(runner))
  tell('slot-taken')
  try {
    await work(runner.death.signal)
  } catch (error) {
    throw runner.dead && !signal.aborted ? new StreamBroken('unexpected EOF') : error
  } finally {
    if (strikes.get('wedge') === undefined && !seen.stuck) {
      giveBack()
      tell('slot-freed')
    }
  }
}

const died =
  (runner: Runner) =>
  (error: unknown): never => {
    throw runner.dead ? new StreamBroken('unexpected EOF') : error
  }
