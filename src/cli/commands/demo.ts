// `ogw demo`: the real gateway in front of simulated workers, each a process of its own, with
// state and socket in a temporary folder. Nothing on this machine is read or left behind.

import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { loadConfig } from '../../gateway/config/load.ts'
import type { LoadedConfig } from '../../gateway/config/load.ts'
import type { Gateway } from '../../gateway/main.ts'
import { CliError } from '../exit-codes.ts'
import type { CliIo } from '../io.ts'
import { runGateway } from '../run-gateway.ts'
import type { DemoFleet, DemoWorker } from '../simulator/fleet.ts'

interface DemoOptions {
  workers: number
  models: number
  port: number
  loadMs: number
  tokenMs: number
}

export function demoCommand(io: CliIo): Command {
  return new Command('demo')
    .description('run the gateway in front of simulated workers, to try everything without a GPU')
    .option('--workers <n>', 'simulated workers', whole(1, 64), 3)
    .option('--models <n>', 'different models in the fleet', whole(1, 2000), 12)
    .option('--port <port>', 'first port to try for clients', whole(1, 65_535), 11_435)
    .option('--load-ms <ms>', 'time that loading a model takes', whole(0, 600_000), 400)
    .option('--token-ms <ms>', 'time between two words of an answer', whole(0, 60_000), 20)
    .action((options: DemoOptions) => runDemo(io, options))
    .addHelpText(
      'after',
      `
Examples:
  ogw demo                              three workers
  ogw demo --workers 12 --models 300    a fleet to fill the console with
`,
    )
}

async function runDemo(io: CliIo, options: DemoOptions): Promise<void> {
  const { startDemoFleet } = await import('../simulator/fleet.ts')
  const folder = await mkdtemp(path.join(tmpdir(), 'ogw-demo-'))
  let fleet: DemoFleet | undefined
  try {
    const { workers, models, loadMs, tokenMs } = options
    fleet = await startDemoFleet({ workers, models, loadMs, tokenMs })
    const loaded = await demoConfig(fleet.workers, folder, options.port)
    const socket = path.join(folder, 'admin.sock')
    await runGateway(io, {
      loaded,
      file: undefined,
      onListening: (gateway) => void sayWhatToTry(io, gateway, socket),
    })
  } finally {
    await fleet?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function demoConfig(
  workers: readonly DemoWorker[],
  folder: string,
  firstPort: number,
): Promise<LoadedConfig> {
  const listen = await freePort(firstPort)
  const opsListen = await freePort(listen + 1)
  const text = JSON.stringify({
    listen: `127.0.0.1:${listen}`,
    ops_listen: `127.0.0.1:${opsListen}`,
    admin: { socket: path.join(folder, 'admin.sock') },
    log: { level: 'warn' },
    drain_timeout: '5s',
    workers: workers.map(({ name, url }) => ({ name, url, why: 'simulated' })),
    storage: { dir: path.join(folder, 'state') },
  })
  const loaded = loadConfig(text, {})
  if (!loaded.ok)
    throw new Error(`the demo's own config is invalid: ${JSON.stringify(loaded.problems)}`)
  return loaded
}

/** How far above the first port a free one is looked for. */
const PORTS_TRIED = 50

async function freePort(first: number): Promise<number> {
  for (let port = first; port < first + PORTS_TRIED && port <= 65_535; port += 1) {
    // oxlint-disable-next-line no-await-in-loop -- the first free one is wanted
    if (await isFree(port)) return port
  }
  throw new CliError('failed', `no port is free from ${first} to ${first + PORTS_TRIED - 1}`)
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(true)))
  return promise
}

async function sayWhatToTry(io: CliIo, gateway: Gateway, socket: string): Promise<void> {
  await gateway.ready
  const { port } = gateway.address
  const workers = gateway.parts.fleet.workers()
  const model = chatModel(gateway) ?? 'qwen3:8b'
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] })
  io.stdout.write(
    `ogw demo: ${workers.length} simulated workers behind http://127.0.0.1:${port}

Try:
  curl http://127.0.0.1:${port}/api/chat -d '${body}'
  ogw tui --socket ${socket}

In a clone of the repository \`ogw\` is bin/ogw. Ctrl-C ends the demo.
`,
  )
}

function chatModel({ parts }: Gateway): string | undefined {
  for (const { inventory } of parts.fleet.workers()) {
    if (inventory.state !== 'known') continue
    for (const { model } of inventory.models.values()) {
      if (model.capabilities?.includes('completion') === true) return model.name
    }
  }
  return undefined
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!Number.isInteger(value) || value < min || value > max) {
      throw new InvalidArgumentError(`a whole number from ${min} to ${max} is needed`)
    }
    return value
  }
}
