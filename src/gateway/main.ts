// The composition root: a Config in, a running Gateway out.

import { mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { systemClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { readListenAddress } from './config/address.ts'
import type { ListenAddress } from './config/address.ts'
import type { LoadedConfig } from './config/load.ts'
import { ConfigReload } from './config/reload.ts'
import { storagePaths } from './config/storage-paths.ts'
import type { StoragePaths } from './config/storage-paths.ts'
import type { Admin } from './admin/start.ts'
import { requestAudit } from './observe/audit-log.ts'
import { EventRing } from './observe/event-ring.ts'
import { createLog, stderrIsJournal } from './observe/log.ts'
import type { Log } from './observe/log.ts'
import { createObserver, requestLog } from './observe/observer.ts'
import { createOpsServer } from './observe/ops-server.ts'
import type { OpsServer } from './observe/ops-server.ts'
import type { RequestRecord } from './observe/request-record.ts'
import { TraceSink } from './observe/trace-sink.ts'
import { ogwJson } from './fleet/telemetry/ogw-json.ts'
import { ParserPool } from './proxy/parser-pool.ts'
import type { ClientServer } from './proxy/server.ts'
import { watchRestores } from './state/restore-journal.ts'
import { WorkerPerformance } from './state/worker-performance.ts'
import { openAdmin, readOperatorState } from './wiring/admin.ts'
import type { OperatorState } from './wiring/admin.ts'
import { openAccess } from './wiring/access.ts'
import type { AccessState } from './wiring/access.ts'
import { makeClientServer } from './wiring/client-side.ts'
import { inferenceDeps } from './wiring/inference.ts'
import { makeMetrics } from './wiring/metrics.ts'
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
  /** Keys and tenants. */
  readonly access: AccessState
  /**
   * Takes no new requests, lets running ones end within `drain_timeout`, then ends everything.
   * Called again it ends at once.
   */
  stop(): Promise<void>
  /** Reads the config file again. A file with a problem changes nothing; the log says which. */
  reload(): void
}

/** Throws StartError where a state file cannot be trusted, or the system's error for a listener. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const assembly = assemble(options)
  const { parts, rooms, state, log, reload } = assembly
  // The socket first: a second gateway on it must refuse before it has touched anything.
  const { listen, ops_listen: opsListen } = reload.config
  const addresses = { listen, opsListen }
  rooms.admin = await openAdmin({
    ...assembly,
    state: assembly.operators,
    env: options.env,
    addresses,
    flush: () => flushAll(rooms),
    draining: () => state.draining,
  })
  const { address, opsAddress } = await listenOrStop(parts, rooms)
  addresses.listen = withPort(listen, address)
  addresses.opsListen = opsListen && withPort(opsListen, opsAddress)
  rooms.performance.start()
  parts.prober.start()
  parts.inventory.start()
  parts.telemetry.start()
  const ready = parts.prober.firstRoundDone.then(() => void (state.ready = true))
  log.event('gateway.started', { listen: `${address.address}:${address.port}` })

  let stopping: Promise<void> | undefined
  return {
    address,
    opsAddress,
    ready,
    parts,
    access: assembly.access,
    reload() {
      const result = rooms.admin?.reload()
      if (result?.ok === true) log.event('config.reloaded', { keys: result.keys.join(', ') })
      else log.event('config.reload_failed', { problems: result?.problems.join('; ') })
    },
    stop() {
      if (stopping !== undefined) void rooms.server.stop(0)
      state.draining = true
      stopping ??= stopAll(parts, rooms, log)
      return stopping
    },
  }
}

interface Assembly {
  parts: GatewayParts
  access: AccessState
  operators: OperatorState
  rooms: Rooms
  state: GatewayState
  reload: ConfigReload
  events: EventRing
  log: Log
  paths: StoragePaths
  /** Whether a restore has come since the state was read. */
  restored(): boolean
}

/** Makes everything and starts nothing. */
function assemble({ loaded, file, env, version, ...given }: GatewayOptions): Assembly {
  const clock = given.clock ?? systemClock
  const { config } = loaded
  const paths = storagePaths(config, env)
  const log = given.log ?? createLog({ level: config.log.level, journal: stderrIsJournal(env) })
  warnOfProxies(env, log)
  makeStateFolder(paths.dir, log)
  const restored = watchRestores(paths.dir)
  const events = new EventRing(clock)
  const reload: ConfigReload = new ConfigReload({
    file,
    env,
    now: () => clock.now(),
    loaded,
    apply: ({ workers, log: { level } }) => {
      parts.fleet.apply({ type: 'configured', workers })
      placeAndDrain(operators)
      log.setLevel(level)
    },
  })
  const onTenantsChanged = (): void => parts.scheduler.limitsChanged()
  const access = openAccess({ paths, clock, log, config: () => reload.config, onTenantsChanged })
  const parts: GatewayParts = makeParts({ config: () => access.config(), log, events, clock, env })
  const operators = readOperatorState(parts, paths, log)
  placeAndDrain(operators)
  const state: GatewayState = { draining: false, ready: false }
  const metrics = makeMetrics(parts, { version, reload, draining: () => state.draining })
  const book = (record: RequestRecord): void => {
    operators.book.done(record)
    operators.tenantBook.done(record)
  }
  const endpoint = (): string | null => reload.config.otel.endpoint
  const traces = new TraceSink({ clock, log, version, env, endpoint })
  const sinks = [requestLog(log), metrics.book, book, traces.book, access.book]
  if (config.audit.requests) sinks.push(requestAudit(operators.audit))
  const parsers = new ParserPool()
  const inference = inferenceDeps(parts, {
    credits: access.credits,
    parsers,
    observer: createObserver(log, sinks),
  })
  const rooms: Rooms = {
    server: makeClientServer(parts, log, { inference, gatekeeper: access.gatekeeper }),
    ops: createOpsServer({
      metrics,
      notReady: () => notReady(state),
      telemetry: () => ogwJson(parts.telemetry.local()),
    }),
    parsers,
    traces,
    access,
    performance: new WorkerPerformance(paths.worker_performance_file, {
      fleet: parts.fleet,
      clock,
      onTrouble: (trouble) => log.event('state.trouble', { problem: trouble?.message }),
    }),
    admin: undefined,
  }
  return { parts, access, operators, rooms, state, reload, events, log, paths, restored }
}

/** A folder that cannot be made starts nothing less: each edit says then why it is refused. */
function makeStateFolder(dir: string, log: Log): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    log.event('state.trouble', { problem })
  }
}

/** Tells the fleet what operators have decided; again after each new config. */
function placeAndDrain({ placement, workers }: OperatorState): void {
  placement.placeAll()
  workers.drainAll()
}

/** What listens or writes, and so has to be ended. */
interface Rooms {
  server: ClientServer
  ops: OpsServer
  parsers: ParserPool
  traces: TraceSink
  performance: WorkerPerformance
  access: AccessState
  admin: Admin | undefined
}

async function listenOrStop(
  { config }: GatewayParts,
  rooms: Rooms,
): Promise<Pick<Gateway, 'address' | 'opsAddress'>> {
  const { listen, ops_listen } = config()
  try {
    const opsAddress =
      ops_listen === null ? undefined : await rooms.ops.listen(hostAndPort(ops_listen))
    return { opsAddress, address: await rooms.server.listen(hostAndPort(listen)) }
  } catch (error) {
    await Promise.all([rooms.admin?.stop(), rooms.ops.close()])
    throw error
  }
}

async function flushAll({ access, performance }: Rooms): Promise<void> {
  await Promise.all([access.flush(), performance.flush()])
}

/** Operators and probes of the process can look on until the last request has ended. */
async function stopAll(parts: GatewayParts, rooms: Rooms, log: Log): Promise<void> {
  const cut = await rooms.server.stop(parts.config().drain_timeout)
  parts.scheduler.close()
  parts.infos.stop()
  parts.telemetry.stop()
  await Promise.all([
    parts.prober.stop(),
    parts.inventory.stop(),
    parts.pools.destroy(),
    rooms.access.flush(),
  ])
  await Promise.all([
    rooms.parsers.close(),
    rooms.traces.stop(),
    rooms.performance.stop(),
    rooms.admin?.stop(),
  ])
  await rooms.ops.close()
  log.event('gateway.stopped', { cut })
  log.flush()
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
}

function notReady({ draining, ready }: GatewayState): string | undefined {
  if (draining) return 'draining'
  return ready ? undefined : 'the first probes of the workers have not ended'
}

/** The schema has checked it. */
function hostAndPort(text: string): ListenAddress {
  const address = readListenAddress(text)
  if (address === undefined) throw new TypeError(`not an address: ${text}`)
  return address
}

/** Port 0 in the config is any free one: what is shown is the one it became. */
function withPort(text: string, address: AddressInfo | undefined): string {
  return address === undefined ? text : text.replace(/:0$/, `:${address.port}`)
}
