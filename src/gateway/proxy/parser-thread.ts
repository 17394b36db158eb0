// The thread that parses large bodies. The bytes travel by transfer, not by copy, both ways.

import { parentPort } from 'node:worker_threads'
import { dialectFor } from '../dialects/dialects.ts'
import { GatewayError } from '../errors.ts'
import type { Fault } from '../errors.ts'
import { parseBody } from './parse-body.ts'
import type { ParsedBody } from './parse-body.ts'

export interface ParseJob {
  id: number
  bytes: ArrayBuffer
  path: string
}

export type ParseResult =
  | { id: number; bytes: ArrayBuffer; parsed: ParsedBody }
  | { id: number; bytes: ArrayBuffer; fault: Fault }
  | { id: number; bytes: ArrayBuffer; bug: string }

parentPort?.on('message', (job: ParseJob) => {
  parentPort?.postMessage(resultOf(job), [job.bytes])
})

function resultOf({ id, bytes, path }: ParseJob): ParseResult {
  try {
    const dialect = dialectFor(path)
    if (dialect === undefined) throw new Error(`no dialect for ${path}`)
    return { id, bytes, parsed: parseBody(Buffer.from(bytes), dialect, path) }
  } catch (error) {
    if (error instanceof GatewayError) return { id, bytes, fault: error.fault }
    return { id, bytes, bug: error instanceof Error ? (error.stack ?? error.message) : 'unknown' }
  }
}
