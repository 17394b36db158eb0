// Clients that speak HTTP as it was once spoken, or say that their JSON is something else.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { DIALECT_REQUESTS, STREAM_REQUESTS, modelFor } from '../../support/dialect-requests.ts'
import { startRig } from '../../support/rig.ts'
import { chatBody } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

// B085: nginx with its defaults speaks HTTP/1.0 and closes. No chunks on the wire, bytes as they
// come, the end of the connection ends the answer, and a failure is told inside it.
for (const each of STREAM_REQUESTS) {
  test(`HTTP/1.0 ${each.path}: plain bytes as they come, and a failure that can be told`, async () => {
    await using rig = await startRig({
      workers: [{ models: ['alpha:8b'], tokens: 6, tokenMs: 60 }],
    })
    const ask = () => {
      const body = JSON.stringify({ model: 'alpha:8b', ...each.body, stream: true })
      const socket = connect(rig.port, '127.0.0.1')
      const got = { text: '', ended: false, reads: 0 }
      socket.setEncoding('utf8').on('data', (chunk) => {
        got.text += String(chunk)
        got.reads += 1
      })
      socket.on('end', () => (got.ended = true)).on('error', () => {})
      socket.write(
        `POST ${each.path} HTTP/1.0\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
      return got
    }
    const whole = ask()
    await until(() => whole.ended, { what: 'the end of the connection' })
    const [head = '', body = ''] = whole.text.split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.[01] 200 /)
    assert.doesNotMatch(head, /transfer-encoding/i)
    assert.match(head, /connection: close/i)
    assert.ok(each.saysWhole(body), body)
    assert.ok(whole.reads >= 3, 'not held back to the end')

    await rig.sims[0]?.faults.add({ kind: 'cut', after: 2, how: 'rst', path: each.path, times: 1 })
    const broken = ask()
    await until(() => broken.ended)
    assert.ok(
      each.tellsFailure(broken.text.split('\r\n\r\n').slice(1).join('\r\n\r\n')),
      broken.text,
    )
  })
}

const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-8',
  'text/plain;charset=UTF-8',
  'application/octet-stream',
  undefined,
]

// B087: curl -d says form, browsers without a preflight say text, some say nothing. It is JSON on
// every route, as it is for Ollama.
test('JSON is JSON whatever its content type says', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b', 'embed-x'] }] })
  for (const each of DIALECT_REQUESTS) {
    const body = JSON.stringify({ model: modelFor(each, 'alpha:8b', 'embed-x'), ...each.body })
    for (const type of TYPES) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
      const answer = await fetch(rig.url + each.path, {
        method: 'POST',
        body: Buffer.from(body),
        headers,
      })
      assert.equal(answer.status, 200, `${each.path} ${type}: ${await answer.text()}`)
      await answer.text().catch(() => '')
    }
  }
  const shown = await fetch(`${rig.url}/api/show`, { method: 'POST', body: '{"model":"alpha:8b"}' })
  assert.equal(shown.status, 200)
})

/** What is no JSON object, and what its refusal says. */
const WRONG: readonly { name: string; body: string; says: RegExp }[] = [
  { name: 'cut', body: '{"model":"alpha:8b","messages":[', says: /./ },
  { name: 'a word', body: 'hello', says: /./ },
  {
    name: 'a comma too many',
    body: '{"model":"alpha:8b",}',
    says: /position|offset|character|column|line/i,
  },
  { name: 'an array', body: '[1]', says: /array/i },
  { name: 'a number', body: '42', says: /number/i },
  { name: 'null', body: 'null', says: /./ },
]

// B087: what is no JSON object is a 400 in the dialect, never a 500 and never a guess.
suite('what is no JSON object is a 400 in every dialect', { concurrency: true }, () => {
  for (const { name, body, says } of WRONG) {
    test(name, async () => {
      await using rig = await startRig({ workers: [{ models: ['alpha:8b', 'embed-x'] }] })
      for (const each of DIALECT_REQUESTS) {
        const answer = await fetch(rig.url + each.path, { method: 'POST', body })
        const text = await answer.text()
        assert.equal(answer.status, 400, `${each.path} ${text}`)
        assert.match(each.messageOf(JSON.parse(text)), says, each.path)
      }
    })
  }
})

// B087: a byte order mark of a Windows editor, and keys that come twice, harm nobody.
test('a byte order mark and duplicate keys', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const plain = JSON.stringify(chatBody('alpha:8b'))
  const twice = plain.replace('{', '{"model":"alpha:8b","stream":true,"stream":true,')
  for (const body of [`\uFEFF${plain}`, twice, ` \n\t${plain}\n `]) {
    const answer = await fetch(`${rig.url}/api/chat`, { method: 'POST', body })
    assert.equal(answer.status, 200, await answer.text())
    await answer.text().catch(() => '')
  }
})
