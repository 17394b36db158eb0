/* oxlint-disable typescript/no-explicit-any, max-lines-per-function, complexity -- stands in until the real scheduler is in */
import type { Ask, Lease } from '../admission/ask.ts'
import { GatewayError } from '../errors.ts'
export class Scheduler {
  d: any
  n = new Map<string, number>()
  q: (() => void)[] = []
  constructor(d: {
    fleet: any
    clock: any
    config: any
    effects: { unload(w: string, m: string): void; event(n: string, f: any): void }
  }) {
    this.d = d
    d.fleet.onChange(() => this.drain())
  }
  drain() {
    for (const f of this.q.splice(0)) f()
  }
  request(ask: Ask, signal: AbortSignal): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const t = performance.now()
      const go = (): void => {
        if (signal.aborted) return reject(signal.reason)
        const ws = this.d.fleet
          .workers()
          .filter(
            (w: any) =>
              !ask.failed.has(w.name) &&
              (w.inventory.state !== 'known' || w.inventory.models.has(ask.model.key)),
          )
        if (ws.length === 0)
          return reject(
            new GatewayError({
              code: 'model_not_installed',
              model: ask.model.display,
              workers: [],
            }),
          )
        const up = ws.filter((w: any) => w.health.state === 'up')
        if (up.length === 0 && ws.every((w: any) => w.health.state === 'down'))
          return reject(
            new GatewayError({
              code: 'no_worker_up',
              model: ask.model.display,
              workers: ws.map((w: any) => ({ worker: w.name, reason: w.health.error })),
              retryAfterS: 5,
            }),
          )
        const free = up
          .filter((w: any) => (this.n.get(w.name) ?? 0) < w.config.max_concurrent)
          .sort((a: any, b: any) => (this.n.get(a.name) ?? 0) - (this.n.get(b.name) ?? 0))[0]
        if (free === undefined) return void this.q.push(go)
        this.n.set(free.name, (this.n.get(free.name) ?? 0) + 1)
        let done = false
        resolve({
          worker: free.name,
          queueMs: performance.now() - t,
          warm: true,
          loadFirst: false,
          decision: undefined as any,
          begun() {},
          [Symbol.dispose]: () => {
            if (done) return
            done = true
            this.n.set(free.name, (this.n.get(free.name) ?? 0) - 1)
            this.drain()
          },
        })
      }
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      go()
    })
  }
  hold() {}
  loadIsWanted(_w: string, _m: string) {
    return false
  }
  inFlight(w: string) {
    return this.n.get(w) ?? 0
  }
  modelInFlight(_w: string, _m: string) {
    return 0
  }
  waiting() {
    return []
  }
  waitingCount() {
    return this.q.length
  }
}
