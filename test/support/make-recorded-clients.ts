// Turns what real clients sent to a real Ollama into the fixture that the gateway is held against:
// each request as it was, and the status that it got.
// Run it by hand when there are new recordings:
//   bin/node dist/test/support/make-recorded-clients.js RECORDING

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { RecordedAction } from './recorded-clients.ts'
import { RECORDED_CLIENTS } from './recorded-clients.ts'

interface Recorded {
  client: string
  requests: {
    request: string
    headers: [string, string][]
    body: string | null
    status: number
  }[]
}

/** The length is that of the body, and is set anew where a body is mended. */
const LEFT_OUT = new Set(['host', 'content-length'])

function main(recording: string): void {
  const lines = readFileSync(recording, 'utf8').trim().split('\n')
  const actions = lines.map((line) => reshape(JSON.parse(line) as Recorded))
  mkdirSync(path.dirname(RECORDED_CLIENTS), { recursive: true })
  writeFileSync(RECORDED_CLIENTS, `${JSON.stringify(actions, null, 1)}\n`)
}

function reshape({ client, requests }: Recorded): RecordedAction {
  return {
    client,
    requests: requests.map(({ request, headers, body, status }) => {
      const [method = '', target = ''] = request.split(' ')
      return {
        method,
        path: target,
        headers: headers.filter(([name]) => !LEFT_OUT.has(name.toLowerCase())),
        body: mended(body),
        status,
      }
    }),
  }
}

/** The prompts of background work are cut in the recording, in the middle of their JSON. */
function mended(body: string | null): string | null {
  return body?.endsWith('…') === true ? `${body}"}],"stream":false}` : body
}

const [recording] = process.argv.slice(2)
if (recording === undefined) throw new Error('which recording?')
main(recording)
