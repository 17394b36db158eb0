// Errors of workers whose words do not come to an end.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Fault } from '../../src/cli/simulator/worker.ts'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import { chatBody } from '../support/sim-client.ts'

/** Errors whose words do not come to an end. */
const UNENDED: readonly { name: string; fault: Fault }[] = [
  { name: '500, endless', fault: { kind: 'status', status: 500, body: '{"err', endless: true } },
  {
    name: '500, shorter than promised',
    fault: { kind: 'status', status: 500, body: '{"error":"x"}', short: 5 },
  },
  { name: '503, endless', fault: { kind: 'status', status: 503, body: '{"err', endless: true } },
  { name: '404, endless', fault: { kind: 'status', status: 404, body: '{"err', endless: true } },
]

// B066: reading an error is bounded like everything else. Another worker answers instead; alone it
// is a 502 that says what happened, within seconds, and the slot is back.
suite('an error whose body does not end', { concurrency: true }, () => {
  for (const { name, fault } of UNENDED) {
    test(`${name}: alone`, async () => {
      await using rig = await startRig({
        workers: [{ models: ['alpha:8b'], slots: 8 }],
        workerConfig: { max_concurrent: 8 },
      })
      for (const { path } of STREAM_REQUESTS) await rig.sims[0]?.faults.add({ ...fault, path })
      await Promise.all(
        STREAM_REQUESTS.map(async ({ path, body, messageOf }) => {
          const answer = await rig.post(path, { model: 'alpha:8b', ...body, stream: true })
          const text = await answer.text()
          assert.equal(answer.status, 502, `${path} ${text}`)
          assert.match(messageOf(JSON.parse(text)), /unreadable error body/)
        }),
      )
    })
    test(`${name}: with a twin`, async () => {
      await using rig = await startRig({
        workers: [{ models: ['alpha:8b'] }, { models: ['alpha:8b'] }],
      })
      await rig.sims[0]?.faults.add({ ...fault, path: '/api/chat' })
      const answer = await rig.post('/api/chat', chatBody('alpha:8b'))
      assert.match(await answer.text(), /"done":true/)
      assert.equal(answer.headers.get('x-ogw-worker'), 'node-2')
    })
  }
})
