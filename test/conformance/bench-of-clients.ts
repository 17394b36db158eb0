// The stage that real client packages are tried on: the gateway over two simulated workers, and a
// table of what each client could do, printed when its tests are over.

import { after, test } from 'node:test'
import type { TestContext } from 'node:test'
import { startRig } from '../support/rig.ts'
import type { Rig, RigOptions } from '../support/rig.ts'
import { until } from '../support/until.ts'

export const MODEL = 'qwen3:8b'
export const PLAIN = 'llama3:8b'
export const EMBED = 'embed:1b'

/** qwen3 can do everything, llama3 nothing but complete, embed only embeds. */
export const MODELS = [
  { name: MODEL, capabilities: ['completion', 'tools', 'thinking', 'vision'], context: 40_960 },
  { name: PLAIN, capabilities: ['completion'], context: 8192 },
  { name: EMBED, capabilities: ['embedding'], context: 512, embeddingLength: 64 },
]

export async function startStage(options: RigOptions = {}): Promise<Rig> {
  const worker = { models: MODELS, slots: 4, tokens: 6, tokenMs: 1 }
  return await startRig({ workers: [worker, worker], ...options })
}

/** Every worker refuses, and the gateway knows it. */
export async function takeDown(rig: Rig): Promise<void> {
  await Promise.all(rig.sims.map((sim) => sim.faults.add({ kind: 'refuse' })))
  const { fleet } = rig.gateway.parts
  await until(() => fleet.workers().every(({ health }) => health.state === 'down'), {
    timeoutMs: 10_000,
    what: 'all workers down',
  })
}

/** A worker has seen its client leave. */
export async function seenLeaving(rig: Rig): Promise<void> {
  await until(() => rig.sims.some((sim) => sim.record.requests().some(({ hungUp }) => hungUp)), {
    timeoutMs: 5000,
    what: 'the worker sees the client leave',
  })
}

type Proof = (rig: Rig, t: TestContext) => Promise<void>

export interface ClientSuite {
  /** One feature, tried through a stage of its own. */
  feature(name: string, proof: Proof, options?: RigOptions): void
}

/** Names the client in every test, and prints its row at the end. */
export function clientSuite(client: string): ClientSuite {
  const results: string[] = []
  after(() => console.log(`${client}: ${results.join(' · ')}`))
  return {
    feature(name, proof, options) {
      test(`${client}: ${name}`, async (t) => {
        await using rig = await startStage(options)
        try {
          await proof(rig, t)
          results.push(`${name} ok`)
        } catch (error) {
          results.push(`${name} FAILED`)
          throw error
        }
      })
    },
  }
}

/** How each client is told of the same failures: what it does with them is its own test. */
export const QUICK_OVERFLOW = 'word '.repeat(60_000)

export const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
} as const

/** The workers call the tool in every answer. */
export async function answerWithTool(rig: Rig): Promise<void> {
  const toolCalls = [{ name: WEATHER.name, arguments: { city: 'Oslo' } }]
  await Promise.all(rig.sims.map((sim) => sim.faults.add({ kind: 'answer', toolCalls })))
}

/** The answer of any worker is cut after some chunks. */
export async function cutStreams(rig: Rig): Promise<void> {
  await Promise.all(
    rig.sims.map((sim) => sim.faults.add({ kind: 'cut', after: 2, how: 'rst', path: '*' })),
  )
}
