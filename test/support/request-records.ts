// Records of requests that ended, for what only reads them.

import type { RequestRecord } from '../../src/gateway/observe/request-record.ts'

/** A request that ended well. */
export function aRecord(id: string, model: string): RequestRecord {
  return {
    id,
    dialect: 'ollama',
    path: '/api/chat',
    model,
    askedModel: undefined,
    background: false,
    tenant: 'default',
    actor: '',
    worker: 'node-1',
    outcome: 'ok',
    code: undefined,
    status: 200,
    attempts: 1,
    queueMs: 0,
    ttfbMs: 10,
    durationMs: 100,
    promptTokens: 5,
    outputTokens: 5,
    estimated: false,
    retryReasons: [],
    notices: [],
    outputMs: 90,
    loadMs: undefined,
    trace: {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      parentSpanId: undefined,
      sampled: false,
      tracestate: undefined,
    },
  }
}
