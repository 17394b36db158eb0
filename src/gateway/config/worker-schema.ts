// What the config says about one worker: where it is, how much it may do, which models may run on
// it and how it is probed.

import { z } from 'zod'
import { readWorkerAddress } from './address.ts'
import { count, duration, FilePath, ModelPattern } from './fields.ts'

/** The baseline of one worker's placement rules. An override set at run time replaces it whole. */
export const PlacementPolicy = z.strictObject({
  mode: z.enum(['allow_all', 'whitelist']).default('allow_all').meta({
    description:
      'What holds for a model that no rule matches: `allow_all` lets it run here, `whitelist` does not.',
  }),
  allowed_models: z.array(ModelPattern).max(10_000).default([]).meta({
    description:
      'Models that may run here: `qwen3:8b`, `gemma4:*` or `*`. The more specific rule wins, and a denial wins a tie.',
  }),
  denied_models: z.array(ModelPattern).max(10_000).default([]).meta({
    description:
      'Models that may not run here, in the same patterns. No score and no loaded copy overturns it.',
  }),
})

/** How one worker's liveness is asked. A probe is one GET and never inference. */
export const Probe = z.strictObject({
  path: z
    .string()
    .regex(/^\/[!-~]*$/, 'a path begins with / and has no blanks')
    .default('/api/version')
    .meta({
      description:
        'What a probe asks for. On the default path the answer must also be JSON with a `version`.',
    }),
  accept_status: z.array(count(100, 599)).min(1).max(100).default([200]).meta({
    description: 'Statuses that count as an answer. Any other means that the worker is not there.',
  }),
  interval: z
    .union([z.literal('off'), duration('1s', '1h')])
    .prefault('5s')
    .meta({
      unit: 'duration',
      description:
        'Pause between two probes of the worker. `"off"`: no periodic probe and no reading of tags or loaded models, which can keep a Mac awake; the worker counts as up, and a transport fault takes it down for `upstream.breaker.open`.',
    }),
  timeout: duration('100ms', '1m').prefault('3s').meta({
    unit: 'duration',
    description: 'A worker that has not answered a probe by then counts as silent.',
  }),
  failures_to_down: count(1, 100).default(2).meta({
    description:
      'Consecutive failed periodic probes before the worker is down. A lower number fails over sooner and is fooled sooner by one lost packet.',
  }),
  max_backoff: duration('1s', '1h').prefault('30s').meta({
    unit: 'duration',
    description:
      'Longest pause between two probes of a worker that has been down for more than a minute. It bounds how late a worker that is back is noticed.',
  }),
})

const Tls = z.strictObject({
  ca_file: FilePath.nullable().default(null).meta({
    description:
      'PEM file of the authority that signed the worker’s certificate; null: the system’s.',
  }),
  verify: z.boolean().default(true).meta({
    description:
      'False accepts any certificate: anyone on the way can then read and change traffic.',
  }),
})

/** Letters, digits, `.`, `-` and `_` of any script. `all` is what aims an operation at every worker. */
const WorkerName = z
  .string()
  .normalize('NFC')
  .regex(/^[\p{L}\p{M}\p{N}._-]{1,63}$/u, 'use 1 to 63 letters, digits, ".", "-" or "_"')
  .refine((name) => name.toLowerCase() !== 'all', '"all" means every worker, so it names none')

/** The framing of a request is the gateway's own; these headers would break it. */
const OWN_HEADERS =
  /^(?:connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$/

const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'not a header name')
  .toLowerCase()
  .refine((name) => !OWN_HEADERS.test(name), 'this header belongs to the connection, not to you')

const HeaderValue = z
  .string()
  .max(8192)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'a header value has no line breaks or control characters')

const Address = z
  .string()
  .max(2048)
  .superRefine((text, context) => {
    const address = readWorkerAddress(text)
    if (!address.ok) context.addIssue(address.why)
  })

/** One worker as it is written; `Worker` below is what it becomes. */
export const WorkerInput = z.strictObject({
  name: WorkerName.meta({
    description:
      'How the worker is called in commands, headers, metrics and state: at most 63 letters, digits, `.`, `-`, `_` of any script, unique without case.',
  }),
  why: z.string().max(500).default('').meta({
    description: 'Free text for people, shown on the worker’s card.',
  }),
  url: Address.optional().meta({
    unit: 'url',
    description:
      'The worker’s one address; or write `urls`. `w1` and `w1:1` mean http; port 11434 is assumed only where neither scheme nor port is written. A path prefix is kept, `user:password@` becomes an `authorization` header.',
  }),
  urls: z.array(Address).min(1).max(32).optional().meta({
    unit: 'url',
    description:
      'Ordered addresses of one and the same worker: the first that answers a probe is used. They are never balanced.',
  }),
  max_concurrent: count(1, 10_000).default(4).meta({
    unit: 'requests',
    description:
      'Requests in flight on this worker, over all models. What finds no slot waits in the queue.',
  }),
  model_concurrency: z.record(ModelPattern, count(1, 10_000)).default({}).meta({
    unit: 'requests',
    description:
      'Requests in flight per model: the exact name, else the longest prefix, else `*`, else `max_concurrent`.',
  }),
  model_placement: PlacementPolicy.prefault({}).meta({
    description: 'Which models may run on this worker, until an operator overrides it.',
  }),
  default_context_tokens: count(1, 100_000_000).nullable().default(null).meta({
    unit: 'tokens',
    description:
      'Context that a model is given on this worker where neither the loaded model nor its Modelfile says; null: `model_capabilities.context.default_worker_tokens`.',
  }),
  context_limits: z.record(ModelPattern, count(1, 100_000_000)).default({}).meta({
    unit: 'tokens',
    description: 'Greatest context per model on this worker; requests that need more go elsewhere.',
  }),
  nvidia_smi: z.boolean().default(false).meta({
    description:
      'Reads GPU load and memory with `nvidia-smi` on the gateway’s own machine, so it is for a worker on that machine.',
  }),
  nvidia_gpu: z.string().min(1).max(500).nullable().default(null).meta({
    description:
      'Which GPUs are this worker’s: an index, a list, or a GPU uuid; null: all of them.',
  }),
  telemetry_url: Address.nullable().default(null).meta({
    unit: 'url',
    description:
      'Where GPU figures are read from (Prometheus text of an exporter, or another ogw). Its values override local ones.',
  }),
  headers: z.record(HeaderName, HeaderValue).default({}).meta({
    description: 'Headers added to every request to this worker. Values are never displayed.',
  }),
  tls: Tls.prefault({}).meta({ description: 'How the worker’s certificate is checked.' }),
  probe: Probe.prefault({}).meta({ description: 'How the worker’s liveness is asked.' }),
})

type Written = z.output<typeof WorkerInput>

/** One worker: `urls` always, without credentials, which have become a header. */
export const Worker = WorkerInput.superRefine(checkAddresses)
  .meta({ oneOf: [{ required: ['url'] }, { required: ['urls'] }] })
  .transform(({ url, urls, headers, ...rest }) => {
    const addresses = (urls ?? [url ?? '']).map(readWorkerAddress).filter((address) => address.ok)
    const authorization = addresses.find((address) => address.authorization)?.authorization
    return {
      ...rest,
      urls: addresses.map((address) => address.url),
      headers: authorization === undefined ? headers : { authorization, ...headers },
    }
  })

function checkAddresses(worker: Written, context: z.RefinementCtx): void {
  const { url, urls, headers } = worker
  if ((url === undefined) === (urls === undefined)) {
    context.addIssue('write either "url" or "urls": one of them, not both')
    return
  }
  const given = new Set(
    (urls ?? [url ?? '']).flatMap((text) => {
      const address = readWorkerAddress(text)
      return address.ok && address.authorization !== undefined ? [address.authorization] : []
    }),
  )
  if (headers['authorization'] !== undefined) given.add(headers['authorization'])
  if (given.size > 1) {
    context.addIssue('the addresses and headers give different credentials for one worker')
  }
}
