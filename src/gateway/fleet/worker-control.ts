// Orders of the gateway to a worker: empty requests that load or unload a model. The gateway never
// sends a prompt.

import type { Clock } from '../clock.ts'
import { callWorker } from './worker-api.ts'
import type { Worker } from './worker.ts'

export type ControlResult = { ok: true } | { ok: false; error: string }

/** An unload is answered at once; a worker that needs longer is not there. */
const UNLOAD_TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 65_536

/** `model` in the worker's own spelling. A request that still runs there ends first. */
export async function unloadOn(
  clock: Clock,
  worker: Worker,
  model: string,
): Promise<ControlResult> {
  const address = worker.current === undefined ? undefined : worker.addresses[worker.current]
  if (address === undefined) return { ok: false, error: 'the worker is down' }
  const ips = address.ip === undefined ? undefined : [address.ip]
  const answer = await callWorker(
    clock,
    { url: address.url, ips, config: worker.config },
    {
      method: 'POST',
      path: '/api/generate',
      body: JSON.stringify({ model, keep_alive: 0 }),
      timeoutMs: UNLOAD_TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
    },
  )
  if (!answer.ok) return answer
  return answer.status === 200 ? { ok: true } : { ok: false, error: `answered ${answer.status}` }
}
