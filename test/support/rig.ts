// The real gateway over real workers on real sockets, for tests of flows and faults. After each
// test the rig checks that nothing was left behind: no slot, no waiter, no request.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import type { SimulatedWorker, WorkerOptions } from '../../src/cli/simulator/worker.ts'
import { loadConfig } from '../../src/gateway/config/load.ts'
import { startGateway } from '../../src/gateway/main.ts'
import type { Gateway } from '../../src/gateway/main.ts'
import { createLog } from '../../src/gateway/observe/log.ts'
import type { RequestRecord } from '../../src/gateway/observe/request-record.ts'
import { until } from './until.ts'

export interface LogLine {
  level: string
  event: string
  [field: string]: unknown
}

export interface RigOptions {
  /** Options of each simulated worker, node-1, node-2, …; a url for a worker of another kind. */
  workers?: readonly (WorkerOptions | { url: string } | { urls: readonly string[] })[]
  /** Merged into each worker's config; by name where one differs. */
  workerConfig?: Record<string, unknown>
  perWorker?: Readonly<Record<string, Record<string, unknown>>>
  /** The rest of the config. Waits are short: each test of a long one says so. */
  config?: Record<string, unknown>
  /** False: the caller waits for the first probes itself. */
  ready?: boolean
  /** Environment of the gateway. Default: empty. */
  env?: Record<string, string>
}

export interface Rig extends AsyncDisposable {
  url: string
  port: number
  opsUrl: string
  gateway: Gateway
  /** The simulated ones, in order; a foreign worker leaves a hole. */
  sims: SimulatedWorker[]
  log: LogLine[]
  /** Records of requests that are over. */
  done: RequestRecord[]
  /** Waits for a log line. */
  logged(event: string, where?: (line: LogLine) => boolean): Promise<LogLine>
  /** Nothing runs and nothing waits. */
  quiet(): Promise<void>
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>
}

/** Quick limits: the effective options are asserted elsewhere, the mechanism is proven here. */
const QUICK = {
  upstream: {
    connect_timeout: '500ms',
    first_byte_grace: '300ms',
    first_byte_timeout: '20s',
    stream_idle_grace: '300ms',
    stream_idle_timeout: '20s',
    breaker: { failures: 50, window: '30s', open: '1s', max_open: '2s' },
  },
  admission: { max_wait: '20s' },
  inventory: { tags_interval: '1s', ps_interval: '1s' },
}

const QUICK_PROBE = { interval: '1s', timeout: '300ms' }

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ogw-rig-'))
  const sims: SimulatedWorker[] = []
  const workers: Record<string, unknown>[] = []
  for (const [index, given] of (options.workers ?? [{}]).entries()) {
    const name = `node-${index + 1}`
    const own = { name, probe: QUICK_PROBE, ...options.workerConfig, ...options.perWorker?.[name] }
    if ('url' in given || 'urls' in given) {
      workers.push({ ...own, ...given })
    } else {
      const sim = await startSimulatedWorker(given)
      sims[index] = sim
      workers.push({ url: sim.url, ...own })
    }
  }
  const log: LogLine[] = []
  const config = { ...merge(QUICK, options.config ?? {}), workers }
  const gateway = await start(folder, log, config, options.env ?? {})
  if (options.ready !== false) await settled(gateway)
  return rigOf({ folder, sims, log, gateway })
}

async function start(
  folder: string,
  log: LogLine[],
  config: Record<string, unknown>,
  env: Record<string, string>,
): Promise<Gateway> {
  const text = JSON.stringify({
    listen: '127.0.0.1:0',
    ops_listen: '127.0.0.1:0',
    drain_timeout: '5s',
    admin: { socket: path.join(folder, 'admin.sock') },
    storage: { dir: path.join(folder, 'state') },
    ...config,
  })
  const loaded = loadConfig(text, {})
  if (!loaded.ok) throw new Error(`the rig's config is invalid: ${JSON.stringify(loaded.problems)}`)
  const write = (line: string): void => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the log writes objects
    log.push(JSON.parse(line) as LogLine)
  }
  return await startGateway({
    loaded,
    file: undefined,
    env,
    version: '0.0.0-test',
    log: createLog({ level: 'debug', output: { write } }),
  })
}

/** Every worker has been probed, and those that are up have told what they have. */
async function settled(gateway: Gateway): Promise<void> {
  await gateway.ready
  const { fleet } = gateway.parts
  await until(
    () =>
      fleet
        .workers()
        .every(
          ({ health, inventory, loaded }) =>
            health.state === 'down' ||
            ((inventory.state === 'known' || inventory.error !== undefined) &&
              (loaded.state === 'known' || loaded.error !== undefined)),
        ),
    { timeoutMs: 10_000, what: 'the first inventories' },
  )
}

interface Made {
  folder: string
  sims: SimulatedWorker[]
  log: LogLine[]
  gateway: Gateway
}

function rigOf({ folder, sims, log, gateway }: Made): Rig {
  const { port } = gateway.address
  const url = `http://127.0.0.1:${port}`
  const { scheduler, active, fleet } = gateway.parts
  const quiet = async (): Promise<void> => {
    await until(
      () =>
        active.size === 0 &&
        scheduler.waitingCount() === 0 &&
        fleet.workers().every(({ name }) => scheduler.inFlight(name) === 0),
      { timeoutMs: 10_000, what: 'no request, no slot and no waiter left' },
    )
  }
  return {
    url,
    port,
    opsUrl: `http://127.0.0.1:${gateway.opsAddress?.port}`,
    gateway,
    sims,
    log,
    get done() {
      return log.filter(({ event }) => event === 'request.done') as unknown as RequestRecord[]
    },
    logged: (event, where = () => true) =>
      until(() => log.find((line) => line.event === event && where(line)), {
        timeoutMs: 10_000,
        what: `the log line ${event}`,
      }),
    quiet,
    post: (route, body, init = {}) =>
      fetch(`${url}${route}`, { method: 'POST', body: JSON.stringify(body), ...init }),
    async [Symbol.asyncDispose]() {
      await quiet()
      await gateway.stop()
      await Promise.all(sims.map((sim) => sim.close()))
      await rm(folder, { recursive: true, force: true })
      assert.deepEqual(
        log.filter(({ event }) => event === 'request.bug'),
        [],
        'no request ended in a bug',
      )
    },
  }
}

/** Deep for plain objects; anything else replaces. */
function merge(base: Record<string, unknown>, over: Record<string, unknown>) {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key]
    merged[key] = isPlain(before) && isPlain(value) ? merge(before, value) : value
  }
  return merged
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
