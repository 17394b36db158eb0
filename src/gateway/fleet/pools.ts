// The connections that requests use: one pool per worker and address.
//
// A pool belongs to one IP. When its address stops being current, or its name points elsewhere,
// the pool is closed: idle sockets end at once, running streams finish on theirs, and no idle
// socket can carry a new request to the place that was left.

import type { Fleet } from './fleet.ts'
import type { FleetSettings } from './fleet-event.ts'
import { notingConnector } from './reused-socket.ts'
import { Client, Pool } from './undici.ts'
import { connectOptions, splitAddress } from './worker-api.ts'
import { currentAddress } from './worker.ts'
import type { Address, Worker } from './worker.ts'

/**
 * Milliseconds an idle socket is kept. Shorter than any server keeps its own (Ollama for ever,
 * Node and uvicorn 5 s, seen in the field: 4 s), with room for undici's coarse timers: a request
 * must not be written onto a socket that the worker is just closing.
 */
export const IDLE_SOCKET_MS = 2_500

interface Entry {
  pool: Pool
  worker: string
  url: string
  ip: string | undefined
  /** What the pool was made with; another config means another pool. */
  config: Worker['config']
}

export class Pools {
  readonly #fleet: Fleet
  readonly #settings: () => FleetSettings
  readonly #entries = new Map<string, Entry>()
  /** Closed pools whose streams still run. */
  readonly #closing = new Set<Pool>()
  readonly #unsubscribe: () => void

  constructor(fleet: Fleet, settings: () => FleetSettings) {
    this.#fleet = fleet
    this.#settings = settings
    this.#unsubscribe = fleet.onChange((event) => {
      if (MOVES.has(event.type)) this.#closeLeft()
    })
  }

  /** The pool for new requests to an address of the worker, made when it is first asked for. */
  poolFor(worker: Worker, addressIndex: number): Pool {
    const address = worker.addresses[addressIndex]
    if (address === undefined) throw new RangeError(`${worker.name} has no such address`)
    const key = `${worker.name} ${address.url}`
    const known = this.#entries.get(key)
    if (
      known !== undefined &&
      known.ip === pinnedIp(worker, address) &&
      known.config === worker.config
    ) {
      return known.pool
    }
    if (known !== undefined) this.#close(key, known)
    const { url } = address
    const ip = pinnedIp(worker, address)
    const pool = this.#newPool(worker, url, ip)
    this.#entries.set(key, { pool, worker: worker.name, url, ip, config: worker.config })
    return pool
  }

  /** A connection of its own to an address, for a replay after a pooled socket turned out stale. */
  freshFor(worker: Worker, address: Address): Client {
    const { url } = address
    return new Client(
      splitAddress(url).origin,
      this.#options(worker, url, pinnedIp(worker, address)),
    )
  }

  #newPool(worker: Worker, url: string, ip: string | undefined): Pool {
    return new Pool(splitAddress(url).origin, {
      ...this.#options(worker, url, ip),
      connections: null,
      keepAliveTimeout: IDLE_SOCKET_MS,
      keepAliveMaxTimeout: IDLE_SOCKET_MS,
    })
  }

  /** Time limits are the attempt's own: what undici would end by itself is switched off. */
  #options(worker: Worker, url: string, ip: string | undefined): Client.Options {
    const { connect_timeout } = this.#settings().upstream
    const ips = ip === undefined ? undefined : [ip]
    return {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
      connect: notingConnector(
        connectOptions({ url, ips, config: worker.config }, connect_timeout),
      ),
    }
  }

  #closeLeft(): void {
    for (const [key, entry] of this.#entries) {
      const worker = this.#fleet.worker(entry.worker)
      const current = currentAddress(worker)
      const stays =
        worker?.config === entry.config &&
        current?.url === entry.url &&
        pinnedIp(worker, current) === entry.ip
      if (!stays) this.#close(key, entry)
    }
  }

  #close(key: string, { pool }: Entry): void {
    this.#entries.delete(key)
    this.#closing.add(pool)
    // Streams that run on it report their own ends; the pool has nothing to add.
    pool.close().then(
      () => this.#closing.delete(pool),
      () => this.#closing.delete(pool),
    )
  }

  /** Ends every connection, also under running streams. */
  async destroy(): Promise<void> {
    this.#unsubscribe()
    const pools = [...this.#closing, ...[...this.#entries.values()].map(({ pool }) => pool)]
    this.#entries.clear()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }
}

/** With probes off nobody notices that a name moved: each connection resolves it itself. */
function pinnedIp(worker: Worker, address: Address): string | undefined {
  return worker.config.probe.interval === 'off' ? undefined : address.ip
}

/** Events after which an address may not be current any more. */
const MOVES: ReadonlySet<string> = new Set([
  'probed',
  'round_ended',
  'transport_fault',
  'silent',
  'rested',
  'configured',
])
