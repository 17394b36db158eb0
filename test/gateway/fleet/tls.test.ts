import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { test } from 'node:test'
import { startFleetRig } from './fleet-rig.ts'

// The certificate is for worker.internal alone and ends in 2126; it guards nothing but this test.
const CERT = 'test/fixtures/fleet/worker-cert.pem'

const cases: [name: string, host: string, tls: object, up: boolean][] = [
  ['a certificate of nobody known', 'worker.internal', {}, false],
  ['its own authority', 'worker.internal', { ca_file: CERT }, true],
  ['another name', 'other.internal', { ca_file: CERT }, false],
  ['unverified', 'other.internal', { verify: false }, true],
  ['a missing file', 'worker.internal', { ca_file: '/nowhere.pem' }, false],
]

for (const [name, host, tls, up] of cases) {
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
      assert.equal(rig.worker().health.state, up ? 'up' : 'down')
      if (up) {
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
