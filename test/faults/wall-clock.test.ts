// B158: the wall clock jumps, as after a night of sleep or by NTP. Ages, waits and Retry-After come
// from the monotonic clock, so nothing of it shows but the times of day.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { mock, test } from 'node:test'
import type { OutputOf } from '../../src/gateway/contract/schema.ts'
import { startRig } from '../support/rig.ts'
import { run } from '../support/run-cli.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
/** Longer than this test may take, shorter than any jump in it. */
const LONGEST_MS = 600_000

for (const [jump, byMs] of [
  ['an hour back', -HOUR_MS],
  ['a day on', 24 * HOUR_MS],
] as const) {
  test(`the wall clock jumps ${jump}: ages, waits and Retry-After stay true`, async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'ogw-wall-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const socket = path.join(folder, 'admin.sock')
    const worker = { models: ['m:1b'], loadMs: 0, tokenMs: 20, tokens: 40 }
    await using rig = await startRig({ workers: [worker], config: { admin: { socket } } })
    const chat = () =>
      rig.post('/api/chat', { model: 'm:1b', messages: [{ role: 'user', content: 'hi' }] })
    const isSane = (ms: number, what: string): void =>
      assert.ok(ms >= 0 && ms < LONGEST_MS, `${what} is ${ms} ms`)
    const listed = async () => {
      const { stdout } = await run(['requests', '--json'], { socket })
      return JSON.parse(stdout) as OutputOf<'requests.list'>
    }

    const running = await chat()
    const wall = Date.now
    const jumped = mock.method(Date, 'now', () => wall() + byMs)
    t.after(() => jumped.mock.restore())
    const [row] = await listed()
    assert.ok(row)
    isSane(row.age_ms, 'the age of what runs')
    assert.match(await running.text(), /"done":true/)
    await rig.quiet()
    const [ended] = await listed()
    assert.ok(ended, 'it is listed for a minute of the monotonic clock')
    isSane(ended.age_ms, 'the age of what ended')
    const { duration_ms: logged } = await rig.logged('request.done')
    isSane(Number(logged), 'the duration in the log')
    assert.equal((await chat()).status, 200)

    await rig.sims[0]?.faults.add({ kind: 'refuse' })
    await until(() => rig.gateway.parts.fleet.worker('node-1')?.health.state === 'down')
    const refused = await chat()
    assert.equal(refused.status, 503)
    const wait = Number(refused.headers.get('retry-after'))
    assert.ok(wait >= 1 && wait <= 60, `Retry-After is ${wait}`)
    await rig.sims[0]?.faults.clear()
    await until(() => rig.gateway.parts.fleet.worker('node-1')?.health.state === 'up')
    assert.equal((await chat()).status, 200, 'the breaker and the probes go by their own clock')
  })
}
