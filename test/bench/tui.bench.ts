// What an open console costs: bytes to the terminal, CPU, and the time from a key to the screen.
// The real program runs on a real pty (util-linux `script`), in front of a fleet of 300 models by
// 40 workers of which 1 % of the cells change four times a second.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Snapshot } from '../../src/gateway/contract/schema/snapshot.ts'
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.ts'
import { cellOf, largeFleet, seeded } from '../support/large-fleet.ts'
import { OGW } from '../support/tmux.ts'
import { until } from '../support/until.ts'
import type { BenchRow } from './bench.ts'

const WINDOW_MS = 15_000
const WARM_UP_MS = 10_000
const TICK_MS = 250
const CHURN = 0.01
const KEYS = 60
const CLOCK_TICKS_PER_S = 100

export async function run(): Promise<BenchRow[]> {
  const snapshot = largeFleet({ workers: 40, models: 300 })
  await using gateway = await startFakeGateway({ snapshot })
  await using console = await openConsole(gateway.socket)
  const stop = churn(gateway)
  await sleep(WARM_UP_MS)
  const busy = await measure(console)
  const latencies = await keyLatencies(console)
  const held = await holdKey(console)
  stop()
  await sleep(1_000)
  const quiet = await quietBytes(console)
  return [
    {
      name: '120x36, 4 updates/s, 1 % churn: CPU',
      value: busy.cpuShare * 100,
      unit: '%',
      note: '<= 15 % of a core',
    },
    {
      name: '120x36, 4 updates/s, 1 % churn: output',
      value: busy.bytesPerS / 1000,
      unit: 'kB/s',
      note: '<= 10 kB/s',
    },
    { name: 'key to screen, p50', value: quantile(latencies, 0.5), unit: 'ms', note: '' },
    { name: 'key to screen, p90', value: quantile(latencies, 0.9), unit: 'ms', note: '<= 120 ms' },
    {
      name: 'a held key, 20 a second, no scrolling',
      value: held / 1000,
      unit: 'kB/s',
      note: '<= 25 kB/s with updates',
    },
    { name: 'quiet fleet, 3 s', value: quiet, unit: 'B', note: '0 bytes' },
    {
      name: 'first frame after the start',
      value: console.firstFrameMs,
      unit: 'ms',
      note: '<= 900 ms',
    },
    { name: 'memory', value: console.rss() / 1e6, unit: 'MB', note: 'resident' },
  ]
}

interface BenchConsole extends AsyncDisposable {
  bytes(): number
  cpuMs(): number
  rss(): number
  key(keys: string): void
  /** Settles when the next bytes arrive. */
  next(): Promise<void>
  firstFrameMs: number
}

async function openConsole(socket: string): Promise<BenchConsole> {
  const started = performance.now()
  const command = `stty cols 120 rows 36; exec ${OGW} tui --socket ${socket}`
  const env = { ...process.env, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', TERM: 'xterm-256color' }
  const child = spawn('script', ['-q', '-e', '-c', command, '/dev/null'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let bytes = 0
  let seen = ''
  let wake = (): void => {}
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (seen.length < 100_000) seen += chunk.toString('utf8')
    wake()
  })
  await until(() => seen.includes('● live') && seen.includes('gemma4'), {
    timeoutMs: 20_000,
    intervalMs: 1,
  })
  const firstFrameMs = performance.now() - started
  const pid = childOf(child)
  return {
    firstFrameMs,
    bytes: () => bytes,
    cpuMs: () => cpuOf(pid),
    rss: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    key: (keys) => void child.stdin.write(keys),
    next: () => new Promise((resolve) => (wake = resolve)),
    async [Symbol.asyncDispose]() {
      child.stdin.write('q')
      await new Promise((resolve) => child.once('exit', resolve))
    },
  }
}

function childOf({ pid }: ChildProcess): number {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return Number(stdout.trim())
}

/** User and system time of a process in milliseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_S) * 1000
}

async function measure(console: BenchConsole): Promise<{ cpuShare: number; bytesPerS: number }> {
  const bytes = console.bytes()
  const cpu = console.cpuMs()
  await sleep(WINDOW_MS)
  return {
    cpuShare: (console.cpuMs() - cpu) / WINDOW_MS,
    bytesPerS: ((console.bytes() - bytes) / WINDOW_MS) * 1000,
  }
}

/** The cursor goes up and down inside the page; the updates go on meanwhile. */
async function keyLatencies(console: BenchConsole): Promise<number[]> {
  const latencies: number[] = []
  const random = seeded(3)
  for (let count = 0; count < KEYS; count += 1) {
    await sleep(80 + random() * 120)
    const from = performance.now()
    console.key(count % 2 === 0 ? 'j' : 'k')
    await console.next()
    latencies.push(performance.now() - from)
  }
  return latencies
}

async function holdKey(console: BenchConsole): Promise<number> {
  const bytes = console.bytes()
  const from = performance.now()
  for (let count = 0; count < 80; count += 1) {
    console.key(Math.floor(count / 8) % 2 === 0 ? 'j' : 'k')
    await sleep(50)
  }
  return ((console.bytes() - bytes) / (performance.now() - from)) * 1000
}

/** A minute that begins meanwhile moves the clock: the quieter of two looks counts. */
async function quietBytes(console: BenchConsole): Promise<number> {
  const looks: number[] = []
  for (let look = 0; look < 2; look += 1) {
    const bytes = console.bytes()
    await sleep(3_000)
    looks.push(console.bytes() - bytes)
  }
  return Math.min(...looks)
}

function churn(gateway: FakeGateway): () => void {
  const random = seeded(1)
  const timer = setInterval(() => gateway.set((before) => churned(before, random)), TICK_MS)
  return () => clearInterval(timer)
}

function churned(before: Snapshot, random: () => number): Snapshot {
  const models = before.models.map((row) => {
    let changed = false
    const cells = row.cells.map((cell, index) => {
      if (random() >= CHURN) return cell
      changed = true
      const presence = cell.presence === 'installed' ? 'loaded' : 'installed'
      return cellOf(before.workers[index]!, row.model, presence)
    })
    return changed ? { ...row, cells } : row
  })
  const traffic = {
    ...before.traffic,
    requests_per_s: random() * 20,
    output_tokens_per_s: random() * 500,
  }
  return { ...before, mono: before.mono + TICK_MS, models, traffic }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
