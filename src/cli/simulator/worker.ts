// A simulated Ollama worker: starts it, and is the handle a test holds.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { realClock } from './clock.ts'
import { control, stateOf } from './control.ts'
import { createEventLog, type EventName, type SimEvent, type WaitOptions } from './events.ts'
import { createFaultBook, type ActiveFault, type Fault } from './faults.ts'
import { createInventory } from './inventory.ts'
import { createListener, type Listener } from './listener.ts'
import type { ModelSpec } from './models.ts'
import { parseName } from './names.ts'
import { seededRandom } from './random.ts'
import { createRecorder, type Concurrency, type SeenRequest } from './record.ts'
import { createScheduler } from './scheduler.ts'
import { serve, type Wire } from './serve.ts'
import { DEFAULT_MODELS, DEFAULT_SETTINGS, type WorkerOptions } from './settings.ts'
import type { Sim } from './sim.ts'
import { featuresOf } from './versions.ts'

export type { WorkerOptions } from './settings.ts'
export type { Fault, FaultKind, ScriptStep } from './faults.ts'
export type { ModelSpec } from './models.ts'
export type { SeenRequest } from './record.ts'
export type { EventName, SimEvent } from './events.ts'
export { manualClock } from './clock.ts'

export interface SimulatedWorker extends AsyncDisposable {
  url: string
  port: number
  /** Where `/_sim/…` also answers while the worker refuses; undefined unless asked for. */
  controlUrl: string | undefined
  models: {
    list(): readonly { name: string; digest: string; size: number }[]
    replace(specs: readonly (ModelSpec | string)[]): void
    add(spec: ModelSpec | string): void
    remove(name: string): boolean
    setDigest(name: string, digest: string): boolean
  }
  faults: {
    /** Resolves when the fault is in force; the answer takes it away. */
    add(fault: Fault): Promise<() => Promise<void>>
    clear(): Promise<void>
    list(): readonly ActiveFault[]
  }
  record: {
    requests(filter?: { path?: string; model?: string }): readonly SeenRequest[]
    /** By method and path, as in `POST /api/chat`. */
    counts(): Readonly<Record<string, number>>
    concurrency(): Concurrency & { models: Readonly<Record<string, Concurrency>> }
    connections(): { opened: number; open: number }
    /** Forgets requests, counts and past events. */
    reset(): void
  }
  scheduler: {
    loaded(): readonly {
      model: string
      numCtx: number
      running: number
      waiting: number
      expiresAt: number
    }[]
    /** Requests that wait for a load, the one being served included. */
    pending(): number
    loading(): string | undefined
    /** The model's runner process dies. False where it is not loaded. */
    kill(model: string): boolean
  }
  /** Changes speed and limits that are read anew for each request. */
  set(
    settings: Partial<
      Pick<Sim['settings'], 'prefillMs' | 'tokenMs' | 'tokens' | 'registry' | 'cloud'>
    >,
  ): void
  waitFor(event: EventName, options?: WaitOptions): Promise<SimEvent>
  events(): readonly SimEvent[]
  state(): Record<string, unknown>
  /** Every connection is reset; the worker goes on listening. */
  resetConnections(): void
  close(): Promise<void>
}

export async function startSimulatedWorker(options: WorkerOptions = {}): Promise<SimulatedWorker> {
  const {
    models = DEFAULT_MODELS,
    clock = realClock,
    onDie = () => {},
    control: wantsControl,
    ...given
  } = options
  const settings = { ...DEFAULT_SETTINGS, ...given }
  // The listener needs the faults and the faults the listener.
  const parts: { listener?: Listener } = {}
  const features = featuresOf(settings.version)
  const events = createEventLog()
  const record = createRecorder()
  const faults = createFaultBook(() => parts.listener?.settle())
  const scheduler = createScheduler({
    ...settings,
    clock,
    fastPath: features.fastPath,
    emit: (event) => events.emit(event),
    failLoad: (model) => failLoad(faults, model.name),
  })
  const sim: Sim = {
    settings,
    features,
    clock,
    random: seededRandom(settings.seed),
    inventory: createInventory(models),
    scheduler,
    faults,
    record,
    events,
  }
  const wire: Wire = {
    sim,
    connectionOf: (req) => parts.listener?.connectionOf(req) ?? 0,
    die() {
      parts.listener?.die()
      onDie()
    },
  }
  parts.listener = await createListener({
    host: settings.host,
    port: settings.port,
    faults: () => faults,
    record,
    onConnection: (id) => events.emit({ name: 'connection', at: clock.now(), detail: String(id) }),
    onRequest: (req, res) => dispatch(wire, req, res),
  })
  const controls = wantsControl === true ? await startControl(sim, parts.listener) : undefined
  return handleOf(sim, parts.listener, controls)
}

function failLoad(faults: Sim['faults'], model: string): string | undefined {
  const fault = faults.take('load_failure', model)
  return fault === undefined
    ? undefined
    : (fault.message ?? 'llama-server process has terminated: exit status 1')
}

function dispatch(wire: Wire, req: IncomingMessage, res: ServerResponse): void {
  if (req.url?.startsWith('/_sim/') === true) {
    void answerControl({ sim: wire.sim }, req, res)
    return
  }
  serve(wire, req, res).catch((error: unknown) => {
    // A bug of the simulation: shown where the test looks, as Go's recovery would.
    process.stderr.write(
      `simulated worker: ${error instanceof Error ? error.stack : String(error)}\n`,
    )
    if (res.headersSent) res.destroy()
    else res.writeHead(500).end()
  })
}

interface Controlled {
  sim: Sim
  /** Undefined on the worker's own connections: there a refusal cuts an answer that waits for it. */
  settled?: () => Promise<void>
}

async function answerControl(
  { sim, settled }: Controlled,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk)
  const path = (req.url ?? '').split('?')[0] ?? ''
  const { status, body } = control(sim, req.method ?? 'GET', path, Buffer.concat(chunks).toString())
  if (settled !== undefined) await settled()
  res.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}

/** Its answers come when the worker listens, or refuses, as it was told. */
async function startControl(sim: Sim, listener: Listener): Promise<Server> {
  const settled = (): Promise<void> => listener.settled()
  const server = createServer((req, res) => void answerControl({ sim, settled }, req, res))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return server
}

function handleOf(sim: Sim, listener: Listener, controls: Server | undefined): SimulatedWorker {
  const { scheduler, events, settings } = sim
  const close = async (): Promise<void> => {
    scheduler.close()
    controls?.closeAllConnections()
    controls?.close()
    await listener.close()
  }
  return {
    url: `http://${settings.host}:${listener.port}`,
    port: listener.port,
    // A listening TCP server's address is never a string or null.
    controlUrl: controls && `http://127.0.0.1:${(controls.address() as AddressInfo).port}`,
    models: modelsOf(sim),
    faults: faultsOf(sim, listener),
    record: recordOf(sim),
    scheduler: schedulerOf(sim),
    set: (changes) => void Object.assign(settings, changes),
    waitFor: (event, wait) => events.waitFor(event, wait),
    events: () => events.all(),
    state: () => stateOf(sim),
    resetConnections: () => listener.resetAll(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function modelsOf({ inventory }: Sim): SimulatedWorker['models'] {
  return {
    list: () => inventory.list(),
    replace: (specs) => inventory.replace(specs),
    add: (spec) => void inventory.add(spec),
    remove: (name) => inventory.remove(name),
    setDigest: (name, digest) => inventory.setDigest(name, digest),
  }
}

function faultsOf({ faults }: Sim, listener: Listener): SimulatedWorker['faults'] {
  return {
    async add(fault) {
      const id = faults.add(fault)
      await listener.settled()
      return async () => {
        faults.remove(id)
        await listener.settled()
      }
    },
    async clear() {
      faults.clear()
      await listener.settled()
    },
    list: () => faults.list(),
  }
}

function recordOf({ record, events }: Sim): SimulatedWorker['record'] {
  return {
    requests: ({ path, model } = {}) =>
      record
        .requests()
        .filter((seen) => path === undefined || seen.path === path)
        .filter((seen) => model === undefined || seen.model === model),
    counts: () => record.counts(),
    concurrency: () => record.concurrency(),
    connections: () => record.connections(),
    reset() {
      record.reset()
      events.reset()
    },
  }
}

function schedulerOf({ scheduler, inventory }: Sim): SimulatedWorker['scheduler'] {
  return {
    loaded: () =>
      scheduler.loaded().map((runner) => ({
        model: runner.model.name,
        numCtx: runner.numCtx,
        running: runner.running(),
        waiting: runner.waiting(),
        expiresAt: runner.expiresAt,
      })),
    pending: () => scheduler.pending(),
    loading: () => scheduler.loading()?.model.name,
    kill(name) {
      const parsed = parseName(name)
      const model = parsed === undefined ? undefined : inventory.find(parsed)
      return model !== undefined && scheduler.kill(model)
    },
  }
}
