import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { test } from 'node:test'
import { startFleetRig } from './fleet-rig.ts'

// The certificate is for worker.internal alone and ends in 2126; it guards nothing but this test.
const CERT = 'test/fixtures/fleet/worker-cert.pem'

/** `fault`: what is said of the worker where it is down. */
const cases: [name: string, host: string, tls: object, fault?: RegExp][] = [
  [
    'a certificate of nobody known',
    'worker.internal',
    {},
    /certificate \(.*\); .* in tls\.ca_file$/,
  ],
  ['its own authority', 'worker.internal', { ca_file: CERT }],
  ['another name', 'other.internal', { ca_file: CERT }, /other\.internal/],
  ['unverified', 'other.internal', { verify: false }],
  ['a missing file', 'worker.internal', { ca_file: '/nowhere.pem' }, /ENOENT.*nowhere\.pem/],
]

for (const [name, host, tls, fault] of cases) {
  test(`TLS: ${name}`, async () => {
    const names = new Set<unknown>()
    const options = {
      cert: readFileSync(CERT),
      key: readFileSync('test/fixtures/fleet/worker-key.pem'),
    }
    const server = createServer(options, (request, response) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the sockets of an HTTPS server
      names.add((request.socket as TLSSocket).servername)
      assert.equal(request.httpVersion, '1.1')
      response.end('{"version":"0.33.0","models":[]}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server that listens
    const { port } = server.address() as AddressInfo
    const urls = [`https://${host}:${port}`]
    const resolve = () => Promise.resolve(['127.0.0.1'])
    {
      await using rig = startFleetRig([{ name: 'w1', urls, tls }], { resolve })
      await rig.prober.firstRoundDone
      const { health } = rig.worker()
      if (fault !== undefined) {
        assert.match(health.state === 'down' ? health.error : 'up', fault)
      } else {
        assert.equal(health.state, 'up')
        const answer = await rig.pools
          .poolFor(rig.worker(), 0)
          .request({ path: '/', method: 'GET' })
        await answer.body.dump()
        assert.deepEqual([...names], [host], 'SNI is the name, not the IP')
      }
    }
    await new Promise((done) => server.close(done))
  })
}

// OpenSSL says of a plain answer where in its source it noticed, and no more.
test('https:// for a worker that speaks http:// is told as that', async () => {
  const server = createPlainServer((_request, response) => response.end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server that listens
  const { port } = server.address() as AddressInfo
  {
    await using rig = startFleetRig([{ name: 'w1', urls: [`https://127.0.0.1:${port}`] }])
    await rig.prober.firstRoundDone
    const { health } = rig.worker()
    assert.match(health.state === 'down' ? health.error : 'up', /it does not speak TLS/)
  }
  await new Promise((done) => server.close(done))
})
