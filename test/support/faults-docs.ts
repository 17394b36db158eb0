// docs/faults.md, from the table that the fault tests prove.

import { FAULT_TABLE } from './fault-table.ts'
import type { FaultRow, Seen } from './fault-table.ts'

const WORDS: Readonly<Record<Seen, string>> = {
  twin: 'the answer of another worker',
  waits: 'the answer, when it comes',
  'in-band error': 'what was sent, then an error event',
  'error answer': 'an error answer',
}

export function faultsDocs(): string {
  return `<!-- Made by \`npm run docs\` from test/support/fault-table.ts. -->

# Faults and what clients see of them

A worker fails; another one has the model, or none has. Until the first byte of an answer a request
moves on to another worker, never two at once; after it nothing is replayed, and a stream that
breaks says so in the words of its client:

| dialect | an error answer | an error inside a stream |
| --- | --- | --- |
| native | \`{"error":"…"}\` | a last line \`{"error":"…"}\` |
| OpenAI chat, completions | \`{"error":{message,type,param,code}}\` | \`data: {"error":{…}}\`, no \`[DONE]\` |
| Responses | the same | \`event: response.failed\` |
| Anthropic | \`{"type":"error","error":{type,message}}\` | \`event: error\` |

A document that is not streamed is held until it is whole (up to 256 KiB), so that a cut one becomes
an error answer and never half a document.

| fault | strikes | streamed, with a twin | not streamed, with a twin | no twin | known |
| --- | --- | --- | --- | --- | --- |
${FAULT_TABLE.map(rowOf).join('\n')}

Every row is tried in every dialect by \`test/faults/matrix.test.ts\`: \`npm run test:faults\` runs all
of it, \`npm test\` a short form.

Also while a request **waits in the queue**: a waiter whose last worker goes down is told at once
(503 naming every worker); a client that leaves is out at once and never reaches a worker; a waiter
that waits too long gets 503 with an honest Retry-After. While a model **loads**: the load goes on
for the others when one client leaves.

A model that could not be loaded, or whose runner died, is kept away from that worker for 2 s, and for
twice as long after each further failure, up to 30 s; other models go on there. With no other worker
its requests get 503 with that Retry-After.
`
}

function rowOf({ name, position, streamed, whole, alone, within }: FaultRow): string {
  const lonely =
    alone === undefined
      ? 'the same'
      : alone === 200
        ? WORDS.waits
        : streamed === 'in-band error'
          ? 'the same'
          : `status ${alone}, or 503 once the worker is known to be gone`
  return `| ${name} | ${position} | ${WORDS[streamed]} | ${WORDS[whole]} | ${lonely} | ${within} |`
}
