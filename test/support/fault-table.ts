// Every way a worker fails that a test can make, where in the life of a request it strikes, and
// what a client then sees: the table that test/faults/matrix.test.ts proves and docs/faults.md
// prints.

import type { Fault } from '../../src/cli/simulator/worker.ts'

/** What the client of a request sees whose worker has the fault. */
export type Seen =
  /** The twin answers, and the client notices nothing. */
  | 'twin'
  /** The faulty worker itself answers, later: it was busy, not gone. */
  | 'waits'
  /** The stream ends with an error in the client's dialect. */
  | 'in-band error'
  /** A whole error answer in the client's dialect. */
  | 'error answer'

export interface FaultRow {
  name: string
  position: 'dispatch' | 'before headers' | 'after headers' | 'in the stream' | 'at the end'
  fault: Fault
  /** What goes wrong at the same time. */
  and?: Fault
  /** A streamed request, with another worker that has the model. */
  streamed: Seen
  /** A request that is not streamed, likewise. */
  whole: Seen
  /** Status for a client whose model no other worker has; undefined where it is answered. */
  alone: number | undefined
  /** How long until the client knows, as an operator would put it. */
  within: string
}

const probe = 'first_byte_grace + probe.timeout'

export const FAULT_TABLE: readonly FaultRow[] = [
  {
    name: 'connection refused',
    position: 'dispatch',
    fault: { kind: 'refuse' },
    streamed: 'twin',
    whole: 'twin',
    alone: 502,
    within: 'at once',
  },
  {
    name: 'reset when connecting',
    position: 'dispatch',
    fault: { kind: 'reset', on: 'accept' },
    streamed: 'twin',
    whole: 'twin',
    alone: 502,
    within: 'at once',
  },
  {
    name: 'reset after the request',
    position: 'before headers',
    fault: { kind: 'reset', on: 'request' },
    streamed: 'twin',
    whole: 'twin',
    alone: 502,
    within: 'at once',
  },
  {
    name: 'host asleep: takes everything, says nothing',
    position: 'before headers',
    fault: { kind: 'silent' },
    streamed: 'twin',
    whole: 'twin',
    alone: 504,
    within: probe,
  },
  {
    name: 'host asleep after its headers',
    position: 'after headers',
    fault: { kind: 'silent_after_headers' },
    streamed: 'twin',
    whole: 'twin',
    alone: 504,
    within: probe,
  },
  {
    name: 'busy: the first byte comes late',
    position: 'before headers',
    fault: { kind: 'slow_headers', ms: 900, path: 'inference' },
    streamed: 'waits',
    whole: 'waits',
    alone: undefined,
    within: 'when the worker answers, at most first_byte_timeout',
  },
  {
    name: 'empty answer',
    position: 'after headers',
    fault: { kind: 'empty', path: 'inference' },
    streamed: 'twin',
    whole: 'twin',
    alone: 502,
    within: 'at once',
  },
  {
    name: '502 of a proxy in between',
    position: 'before headers',
    fault: { kind: 'status', status: 502, body: '<html>bad gateway', path: 'inference' },
    streamed: 'twin',
    whole: 'twin',
    alone: 502,
    within: 'at once',
  },
  {
    name: '504 of a proxy in between',
    position: 'before headers',
    fault: { kind: 'status', status: 504, body: '<html>timeout', path: 'inference' },
    streamed: 'twin',
    whole: 'twin',
    alone: 504,
    within: 'at once',
  },
  {
    name: '503 of a proxy in between',
    position: 'before headers',
    fault: { kind: 'status', status: 503, body: '<html>unavailable', path: 'inference' },
    streamed: 'twin',
    whole: 'twin',
    alone: 503,
    within: 'at once',
  },
  {
    name: "busy: the worker's own queue is full (503)",
    position: 'before headers',
    fault: {
      kind: 'status',
      status: 503,
      body: '{"error":"server busy, please try again.  maximum pending requests exceeded"}',
      times: 1,
      path: 'inference',
    },
    streamed: 'twin',
    whole: 'twin',
    alone: 200,
    within: 'at once; with no twin it goes back to the queue',
  },
  {
    name: 'out of memory',
    position: 'before headers',
    fault: {
      kind: 'status',
      status: 500,
      body: '{"error":"model requires more system memory (9.0 GiB) than is available (1.0 GiB)"}',
      path: 'inference',
    },
    streamed: 'twin',
    whole: 'twin',
    alone: 500,
    within: 'at once',
  },
  {
    name: 'load failure',
    position: 'before headers',
    fault: {
      kind: 'status',
      status: 500,
      body: '{"error":"llama runner process has terminated: exit status 2"}',
      path: 'inference',
    },
    streamed: 'twin',
    whole: 'twin',
    alone: 500,
    within: 'at once',
  },
  {
    name: 'model lost out of band',
    position: 'before headers',
    fault: {
      kind: 'status',
      status: 404,
      body: '{"error":"model \\"x\\" not found, try pulling it first"}',
      path: 'inference',
    },
    streamed: 'twin',
    whole: 'twin',
    alone: 404,
    within: 'at once',
  },
  {
    name: 'error body that never ends',
    position: 'after headers',
    fault: { kind: 'status', status: 500, body: '{"err', endless: true, path: 'inference' },
    streamed: 'twin',
    whole: 'twin',
    alone: 502,
    within: '5 s',
  },
  {
    name: 'client fault: a plain 400',
    position: 'before headers',
    fault: { kind: 'status', status: 400, body: '{"error":"bad"}', path: 'inference' },
    streamed: 'error answer',
    whole: 'error answer',
    alone: 400,
    within: 'at once',
  },
  ...(['rst', 'fin'] as const).map((how): FaultRow => ({
    name: how === 'rst' ? 'reset after its headers' : 'closed after its headers',
    position: 'after headers',
    fault: { kind: 'cut', after: 0, how, path: 'inference' },
    streamed: 'twin',
    whole: 'twin',
    alone: 502,
    within: 'at once',
  })),
  {
    name: 'a document that is cut short',
    position: 'at the end',
    fault: {
      kind: 'status',
      status: 200,
      body: '{"done":true,"pad":1}',
      short: 9,
      path: 'inference',
    },
    streamed: 'error answer',
    whole: 'error answer',
    alone: 502,
    within: 'at once',
  },
  ...[1, 2, 4].flatMap((after): FaultRow[] => [
    {
      name: `reset after ${after} chunks`,
      position: 'in the stream',
      fault: { kind: 'cut', after, how: 'rst', path: 'inference' },
      streamed: 'in-band error',
      whole: 'waits',
      alone: undefined,
      within: 'at once',
    },
    {
      name: `closed after ${after} chunks`,
      position: 'in the stream',
      fault: { kind: 'cut', after, how: 'fin', path: 'inference' },
      streamed: 'in-band error',
      whole: 'waits',
      alone: undefined,
      within: 'at once',
    },
  ]),
  {
    name: 'host asleep in the middle of a stream',
    position: 'in the stream',
    fault: { kind: 'gap', ms: 60_000, after: 2, path: 'inference' },
    and: { kind: 'silent', path: '/api/version' },
    streamed: 'in-band error',
    whole: 'waits',
    alone: undefined,
    within: 'stream_idle_grace + probe.timeout',
  },
  {
    name: 'busy: silence between two words',
    position: 'in the stream',
    fault: { kind: 'gap', ms: 900, after: 5, path: 'inference' },
    streamed: 'waits',
    whole: 'waits',
    alone: undefined,
    within: 'when the worker goes on, at most stream_idle_timeout',
  },
  {
    name: 'an error of the worker inside its stream',
    position: 'in the stream',
    fault: { kind: 'stream_error', after: 2, path: 'inference' },
    streamed: 'in-band error',
    whole: 'twin',
    alone: undefined,
    within: 'at once',
  },
  {
    name: "the model's runner dies",
    position: 'in the stream',
    fault: { kind: 'kill_runner', after: 2, path: 'inference' },
    streamed: 'in-band error',
    whole: 'waits',
    alone: undefined,
    within: 'at once',
  },
  {
    name: 'a stream that ends without its terminator',
    position: 'at the end',
    fault: { kind: 'no_terminator', path: 'inference' },
    streamed: 'in-band error',
    whole: 'waits',
    alone: undefined,
    within: 'at the end of the stream',
  },
  {
    name: 'gzip that nobody asked for',
    position: 'after headers',
    fault: { kind: 'gzip', declared: true, path: 'inference' },
    streamed: 'waits',
    whole: 'waits',
    alone: undefined,
    within: 'at once',
  },
]
