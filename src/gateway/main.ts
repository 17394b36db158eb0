// The composition root: a Config in, a running Gateway out.

import type { AddressInfo } from 'node:net'
import { systemClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { readListenAddress } from './config/address.ts'
import type { ListenAddress } from './config/address.ts'
import type { LoadedConfig } from './config/load.ts'
import { storagePaths } from './config/storage-paths.ts'
import { createLog, stderrIsJournal } from './observe/log.ts'
import type { Log } from './observe/log.ts'
import { createMetrics } from './observe/metrics.ts'
import type { Metrics } from './observe/metrics.ts'
import { createObserver, requestLog } from './observe/observer.ts'
import { createOpsServer } from './observe/ops-server.ts'
import { ParserPool } from './proxy/parser-pool.ts'
import { WorkerPerformance } from './state/worker-performance.ts'
import { makeClientServer } from './wiring/client-side.ts'
import { inferenceDeps } from './wiring/inference.ts'
import { makeParts } from './wiring/parts.ts'
import type { GatewayParts } from './wiring/parts.ts'

export interface GatewayOptions {
  loaded: LoadedConfig
  /** Where the config was read from; undefined = it is no file and cannot be reloaded. */
  file: string | undefined
  env: Readonly<Record<string, string | undefined>>
  version: string
  /** Default: JSON lines on stderr. */
  log?: Log
  /** Default: the machine's. */
  clock?: Clock
}

export interface Gateway {
  /** Where clients connect. */
  readonly address: AddressInfo
  readonly opsAddress: AddressInfo | undefined
  /** Resolves once every worker has been probed for the first time. */
  readonly ready: Promise<void>
  readonly parts: GatewayParts
  /**
   * Takes no new requests, lets running ones end within `drain_timeout`, then ends everything.
   * Called again it ends at once.
   */
  stop(): Promise<void>
  /** Reads the config file again. A file with a problem changes nothing; the log says which. */
  reload(): Promise<void>
}

/** Throws StartError where a state file cannot be trusted, or the system's error for a listener. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { loaded, env, clock = systemClock } = options
  const { config } = loaded
  const paths = storagePaths(config, env)
  const log = options.log ?? createLog({ level: config.log.level, journal: stderrIsJournal(env) })
  warnOfProxies(env, log)
  const parts = makeParts({ config: () => config, log, clock })
  const { prober, inventory } = parts
  const state = { draining: false, ready: false, configuredAtS: clock.now() / 1000 }
  const performance = new WorkerPerformance(paths.worker_performance_file, {
    fleet: parts.fleet,
    clock,
    onTrouble: (trouble) => log.event('state.trouble', { problem: trouble?.message }),
  })
  const metrics = makeMetrics(parts, options.version, state)
  const observer = createObserver(log, [requestLog(log), metrics.book])
  const inference = inferenceDeps(parts, { parsers: new ParserPool(), observer })
  const server = makeClientServer(parts, log, inference)
  const ops = createOpsServer({ metrics, notReady: () => notReady(state) })

  performance.start()
  prober.start()
  inventory.start()
  const ready = prober.firstRoundDone.then(() => void (state.ready = true))
  const opsAddress =
    config.ops_listen === null ? undefined : await ops.listen(hostAndPort(config.ops_listen))
  const address = await server.listen(hostAndPort(config.listen))
  log.event('gateway.started', { listen: `${address.address}:${address.port}` })

  async function stopAll(): Promise<void> {
    const cut = await server.stop(config.drain_timeout)
    await Promise.all([prober.stop(), inventory.stop(), parts.pools.destroy()])
    parts.infos.stop()
    await Promise.all([inference.parsers.close(), performance.stop()])
    await ops.close()
    log.event('gateway.stopped', { cut })
    log.flush()
  }

  let stopping: Promise<void> | undefined
  return {
    address,
    opsAddress,
    ready,
    parts,
    reload: () => Promise.resolve(),
    stop() {
      if (stopping !== undefined) void server.stop(0)
      state.draining = true
      stopping ??= stopAll()
      return stopping
    },
  }
}

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']

/** Worker traffic is direct; who set these may expect otherwise. */
function warnOfProxies(env: GatewayOptions['env'], log: Log): void {
  for (const name of PROXY_VARIABLES) {
    const set = (env[name] ?? '') !== '' || (env[name.toLowerCase()] ?? '') !== ''
    if (set) log.event('proxy.ignored', { variable: name })
  }
}

interface GatewayState {
  draining: boolean
  ready: boolean
  configuredAtS: number
}

function notReady({ draining, ready }: GatewayState): string | undefined {
  if (draining) return 'draining'
  return ready ? undefined : 'the first probes of the workers have not ended'
}

function makeMetrics(
  { fleet, scheduler }: GatewayParts,
  version: string,
  state: GatewayState,
): Metrics {
  return createMetrics({
    version,
    workers: () => fleet.workers(),
    inFlight: (worker) => scheduler.inFlight(worker),
    modelInFlight: (worker, model) => scheduler.modelInFlight(worker, model),
    waitingCount: () => scheduler.waitingCount(),
    draining: () => state.draining,
    isInstalled: (key) =>
      fleet
        .workers()
        .some(({ inventory }) => inventory.state === 'known' && inventory.models.has(key)),
    configReload: () => ({ successful: true, succeededAtS: state.configuredAtS }),
  })
}

/** The schema has checked it. */
function hostAndPort(text: string): ListenAddress {
  const address = readListenAddress(text)
  if (address === undefined) throw new TypeError(`not an address: ${text}`)
  return address
}
