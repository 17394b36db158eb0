// `npm run screenshots`: drives the real console in tmux in front of the demo fleet and writes what
// it shows into docs/images. It needs tmux.

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { screenToSvg } from './svg.ts'
import { OGW, startTmux, type TmuxTerminal } from './tmux.ts'
import { ROOT } from './write-docs.ts'

const COLUMNS = 120
const ROWS = 36
const IMAGES = path.join(ROOT, 'docs', 'images')

interface Shot {
  name: string
  title: string
  /** Keys that lead there from the shot before. */
  keys: readonly string[]
  see: RegExp
}

const SHOTS: readonly Shot[] = [
  {
    name: 'placement',
    title: 'Placement: models by workers',
    keys: ['1', 'g', 'j', 'l', 'l', 'Space'],
    see: /✗↳/,
  },
  { name: 'why', title: 'Why a model is blocked on a worker', keys: ['w'], see: /DECIDES/ },
  { name: 'workers', title: 'Workers as a table', keys: ['Escape', '2'], see: /2 Workers\]/ },
  { name: 'cards', title: 'Workers as cards', keys: ['t', 'j', 'l'], see: /━>node/ },
  {
    name: 'ruleset',
    title: 'The rules of one worker as a draft',
    keys: ['t', 'e', 'n', 'qwen3:*', 'Enter'],
    see: /would change/,
  },
  {
    name: 'requests',
    title: 'Requests that run and wait',
    keys: ['Escape', 'y', '3'],
    see: /▶ stream/,
  },
  { name: 'models', title: 'Models and what they can do', keys: ['4'], see: /CAPS/ },
  { name: 'tenants', title: 'Tenants and their credits', keys: ['5', 'j', 'j'], see: /keys of/ },
  { name: 'events', title: 'Events', keys: ['6'], see: /worker\.up/ },
  { name: 'help', title: 'Help, made from the keys', keys: ['1', '?'], see: /toggle the exact/ },
]

/** So that there is something to see in the matrix, and among tenants. */
const RULES = [
  'placement deny gemma4:* node-2 --force',
  'placement allow gemma4:12b node-2',
  'placement deny phi4:* node-4 --force',
  'placement preset node-5 only-installed',
  'placement deny qwen3:* node-9 --force',
  'workers drain node-8',
  'tenants set default --credits 400000',
  'tenants set acme --weight 4 --credits 10000000 --models qwen3:* --models gemma4:*',
  'tenants set batch --priority background --credits 2000000 --actor-credits 500000',
  'keys create --tenant acme --expires 30d',
  'keys create --tenant batch --scope read',
]

const demo = spawn(
  OGW,
  ['demo', '--workers', '12', '--models', '40', '--port', '22435', '--token-ms', '60'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
const stopped = new AbortController()
try {
  const said = await firstWords()
  const url = /(http:\/\/[\d.:]+)/.exec(said)?.[1] ?? ''
  const socket = /--socket (\S+)/.exec(said)?.[1] ?? ''
  mkdirSync(IMAGES, { recursive: true })
  for (const rule of RULES)
    spawnSync(OGW, [...rule.split(' '), '--socket', socket], { stdio: 'ignore' })
  await sendTraffic(url)
  await using terminal = startTmux(COLUMNS, ROWS)
  terminal.line(`clear; ${OGW} tui --socket ${socket}`)
  await terminal.see(/● live/)
  for (const shot of SHOTS) await take(terminal, shot)
} finally {
  stopped.abort()
  demo.kill('SIGTERM')
}

async function firstWords(): Promise<string> {
  let said = ''
  for await (const chunk of demo.stdout) {
    said += String(chunk)
    if (said.includes('Ctrl-C')) break
  }
  return said
}

/** More requests than there are slots for the busiest model, so that some wait. */
async function sendTraffic(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/tags`)
  const { models } = (await answer.json()) as { models: { name: string }[] }
  const names = models
    .map(({ name }) => name)
    .filter((name) => !name.includes('embed') && !name.includes('bge'))
  for (let index = 0; index < 40; index += 1) {
    const model = names[index < 20 ? 0 : (index * 13) % names.length] ?? ''
    const messages = [{ role: 'user', content: 'tell me a long story '.repeat(20) }]
    const body = JSON.stringify({ model, messages, options: { num_predict: 4000 } })
    fetch(`${url}/api/chat`, { method: 'POST', body, signal: stopped.signal })
      .then((reply) => reply.text())
      .catch(() => {})
  }
  await new Promise((resolve) => setTimeout(resolve, 12_000))
}

async function take(terminal: TmuxTerminal, { name, title, keys, see }: Shot): Promise<void> {
  for (const key of keys) {
    terminal.keys(key)
    await new Promise((resolve) => setTimeout(resolve, 400))
  }
  await terminal.see(see)
  await new Promise((resolve) => setTimeout(resolve, 600))
  const file = path.join(IMAGES, `${name}.svg`)
  writeFileSync(file, screenToSvg(terminal.styledScreen(), COLUMNS, `ogw tui: ${title}`))
  console.log(`wrote ${path.relative(ROOT, file)}`)
}
