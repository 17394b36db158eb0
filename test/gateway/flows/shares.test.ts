// Two tenants of weights 3 and 1 that both want more than one worker can do get tokens 3 to 1, real
// ones, whatever each of them asks for.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { keyFor } from '../../support/key-drafts.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'

/** So many requests of each tenant wait or run at any moment. */
const AT_ONCE = 8
const COUNTED_TOKENS = 12_000
/** Before that the two are still coming in. */
const WARM_TOKENS = 800

type Body = Record<string, unknown>

const said = (words: number): Body => ({
  messages: [{ role: 'user', content: 'word '.repeat(words) }],
})

interface Mix {
  name: string
  slots?: number
  big: (index: number) => Body
  small: (index: number) => Body
}

const MIXES: readonly Mix[] = [
  { name: 'the same', big: () => said(4), small: () => said(4) },
  { name: 'long prompts against short ones', big: () => said(4), small: () => said(400) },
  {
    name: 'a coding agent that asks for 32,000 tokens and takes 20',
    big: () => ({ ...said(20), max_tokens: 32_000 }),
    small: () => said(20),
  },
  {
    name: 'the same agent where four run at once',
    slots: 4,
    big: () => ({ ...said(20), max_tokens: 32_000 }),
    small: () => said(20),
  },
  {
    name: 'bounded answers against unbounded ones, of changing size',
    big: (index) => ({ ...said(index % 50), max_tokens: 1 + (index % 9) }),
    small: (index) => said((index * 7) % 90),
  },
]

interface Done {
  tenant: string
  prompt_tokens: number
  output_tokens: number
}

async function tokensOf(rig: Rig, mix: Mix): Promise<Record<string, number>> {
  const lines = (): Done[] => rig.done as unknown as Done[]
  const spent = (list: readonly Done[]): number =>
    list.reduce((sum, line) => sum + line.prompt_tokens + line.output_tokens, 0)
  const isOver = (): boolean => spent(lines()) > WARM_TOKENS + COUNTED_TOKENS
  let contested: Done[] = []
  const keepAsking = async (tenant: 'big' | 'small', headers: Record<string, string>) => {
    for (let index = 0; !isOver(); index += 1) {
      const body = { model: 'm:1b', ...mix[tenant](index) }
      const answer = await rig.post('/v1/chat/completions', body, { headers })
      await answer.text()
      assert.equal(answer.status, 200)
      if (isOver() && contested.length === 0) contested = lines()
    }
  }
  const keys = {
    big: await keyFor(rig, { tenant: 'big' }),
    small: await keyFor(rig, { tenant: 'small' }),
  }
  const clients = (['big', 'small'] as const).flatMap((tenant) =>
    Array.from({ length: AT_ONCE }, () => keepAsking(tenant, keys[tenant])),
  )
  await Promise.all(clients)
  let warm = 0
  const counted = contested.filter((line) => {
    warm += spent([line])
    return warm > WARM_TOKENS
  })
  const of = (tenant: string): number => spent(counted.filter((line) => line.tenant === tenant))
  return { big: of('big'), small: of('small') }
}

suite('weights 3 and 1 over one worker', () => {
  for (const mix of MIXES) {
    test(mix.name, async () => {
      const { slots = 1 } = mix
      await using rig = await startRig({
        workers: [{ models: ['m:1b'], slots, tokens: 20, tokenMs: 0, loadMs: 0 }],
        workerConfig: { max_concurrent: slots },
        config: {
          auth: { mode: 'keys' },
          tenants: [
            { name: 'big', weight: 3 },
            { name: 'small', weight: 1 },
          ],
        },
      })
      const { big = 0, small = 1 } = await tokensOf(rig, mix)
      const ratio = big / small
      assert.ok(Math.abs(ratio - 3) <= 0.15, `${big} to ${small} is ${ratio.toFixed(2)} to 1`)
    })
  }
})
