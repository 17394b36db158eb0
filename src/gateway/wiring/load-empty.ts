// An empty load for a request that waits for it: as long as the worker answers probes it may take
// its time, and its list of loaded models is read again before the request is judged anew.

import { loadOn, WorkerRefusal } from '../fleet/worker-control.ts'
import { currentAddress, installedOn } from '../fleet/worker.ts'
import type { Worker } from '../fleet/worker.ts'
import type { EmptyLoad, LoadResult } from '../proxy/inference-deps.ts'
import { SilenceWatch } from '../proxy/silence-watch.ts'
import type { GatewayParts } from './parts.ts'

export async function loadEmpty(
  parts: GatewayParts,
  worker: Worker | undefined,
  { modelKey, embedding }: EmptyLoad,
  signal: AbortSignal,
): Promise<LoadResult> {
  const address = currentAddress(worker)
  if (worker === undefined || address === undefined) {
    return { ok: false, why: 'absent', error: 'no address of it answers' }
  }
  const { clock, config, prober, inventory, fleet } = parts
  const { first_byte_grace: graceMs, first_byte_timeout: timeoutMs } = config().upstream
  const absent = new AbortController()
  const watch = new SilenceWatch(
    {
      clock,
      probe: (until) => prober.probeAddress(worker, address.url, until),
      onSilence(silence) {
        const error = silence.kind === 'absent' ? silence.error : 'the load took too long'
        if (silence.kind === 'absent') {
          fleet.apply({ type: 'silent', worker: worker.name, address: address.url, error })
        }
        absent.abort(new Error(error))
      },
    },
    { graceMs, timeoutMs },
  )
  const spelling = installedOn(worker, modelKey)?.name
  const path = embedding ? '/api/embed' : '/api/generate'
  try {
    await loadOn(worker, spelling ?? modelKey, AbortSignal.any([signal, absent.signal]), path)
    await inventory.readNow(worker.name)
    return { ok: true }
  } catch (error) {
    const said = absent.signal.aborted ? String(absent.signal.reason) : messageOf(error)
    return { ok: false, why: error instanceof WorkerRefusal ? 'refused' : 'absent', error: said }
  } finally {
    watch.stop()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
