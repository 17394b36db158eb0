// What changes a worker's disk: pull, push, create, copy, delete and blobs.

import { createHash } from 'node:crypto'
import { bind, textOf } from '../bind.ts'
import { sleep } from '../clock.ts'
import type { Decoded, Struct } from '../decode.ts'
import { SimError } from '../errors.ts'
import { nativeError } from '../form-native.ts'
import { goJson } from '../go-json.ts'
import { makeModel, type SimModel } from '../models.ts'
import { displayName, parseName, type ModelName } from '../names.ts'
import { hashOf, seededRandom } from '../random.ts'
import { StreamBroken } from '../reply.ts'
import { JSON_UTF8, type Exchange } from '../sim.ts'

const PULL: Struct = { model: 'string', name: 'string', insecure: 'bool', stream: 'bool' }
const CREATE: Struct = {
  model: 'string',
  name: 'string',
  from: 'string',
  files: 'any',
  system: 'string',
  template: 'string',
  parameters: 'any',
  stream: 'bool',
}
const COPY: Struct = { source: 'string', destination: 'string' }

type Line = Readonly<Record<string, string | number>>
type Progress = AsyncGenerator<Line, void, void>

/** Lines of a download per layer. */
const PULL_STEPS = 5

export async function pullRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, async () => {
    const request = bind(exchange, PULL, 'api.PullRequest')
    const name = targetOf(request)
    await sendProgress(exchange, request, pull(exchange, name))
  })
}

export async function pushRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, async () => {
    const request = bind(exchange, PULL, 'api.PushRequest')
    if (wanted(request) === '') throw new SimError(400, 'model is required')
    const name = targetOf(request)
    await sendProgress(exchange, request, push(exchange, name))
  })
}

export async function createRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, async () => {
    const request = bind(exchange, CREATE, 'api.CreateRequest')
    const name = targetOf(request)
    if (textOf(request['from']) === '' && request['files'] === undefined) {
      throw new SimError(400, "neither 'from' or 'files' was specified", { from: 'running' })
    }
    await sendProgress(exchange, request, create(exchange, name, request))
  })
}

export async function copyRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, async () => {
    const { sim, reply } = exchange
    const request = bind(exchange, COPY, 'api.CopyRequest')
    const source = parseName(textOf(request['source']))
    const destination = parseName(textOf(request['destination']))
    if (source === undefined) {
      throw new SimError(400, `source ${JSON.stringify(textOf(request['source']))} is invalid`)
    }
    if (destination === undefined) {
      throw new SimError(
        400,
        `destination ${JSON.stringify(textOf(request['destination']))} is invalid`,
      )
    }
    const model = sim.inventory.find(source)
    if (model === undefined) {
      throw new SimError(404, `model ${JSON.stringify(textOf(request['source']))} not found`)
    }
    sim.inventory.copy(model, destination, sim.clock.now())
    await reply.send(200, {})
  })
}

/** What is loaded stays loaded: ps lists it until its session ends. */
export async function deleteRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, async () => {
    const request = bind(exchange, PULL, 'api.DeleteRequest')
    const raw = wanted(request)
    const name = parseName(raw)
    if (name === undefined) throw new SimError(400, `name ${JSON.stringify(raw)} is invalid`)
    const model = exchange.sim.inventory.find(name)
    if (model === undefined) throw new SimError(404, `model '${raw}' not found`)
    exchange.sim.inventory.remove(model.name)
    await exchange.reply.send(200, {})
  })
}

const wanted = (request: Decoded): string => textOf(request['model']) || textOf(request['name'])

function targetOf(request: Decoded): ModelName {
  const name = parseName(wanted(request))
  if (name === undefined) throw new SimError(400, 'invalid model name')
  return name
}

async function answering({ reply }: Exchange, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof SimError) || reply.begun) throw error
    const { contentType, body } = nativeError(error)
    if (error.from !== 'running') {
      await reply.send(error.status, { 'Content-Type': contentType }, body)
      return
    }
    // Comes through the stream's channel: chunked, and labelled without a charset.
    reply.begin(error.status, { 'Content-Type': 'application/json' })
    await reply.write(body)
    reply.end()
  }
}

/** A stream of lines, or the last of them alone with `stream: false`. */
async function sendProgress(
  { reply }: Exchange,
  request: Decoded,
  progress: Progress,
): Promise<void> {
  let last: Line = {}
  const streaming = request['stream'] !== false
  if (streaming) reply.begin(200, { 'Content-Type': 'application/x-ndjson' })
  try {
    for await (const line of progress) {
      last = line
      if (streaming) await reply.write(`${goJson(line)}\n`)
    }
  } catch (error) {
    if (!(error instanceof StreamBroken)) throw error
    await reply.write(`${goJson({ error: error.message })}\n`)
  }
  if (streaming) {
    reply.end()
    return
  }
  await reply.send(
    'error' in last ? 500 : 200,
    { 'Content-Type': 'application/json' },
    goJson(last),
  )
}

async function* pull(exchange: Exchange, name: ModelName): Progress {
  const { sim, signal } = exchange
  yield { status: 'pulling manifest' }
  const installed = sim.inventory.find(name)
  if (installed === undefined && sim.settings.registry !== 'available') {
    yield { error: pullError(exchange, name) }
    return
  }
  const model = installed ?? makeModel({ name: displayName(name) })
  for (const { digest, total } of layersOf(model)) {
    for (let step = installed === undefined ? 0 : PULL_STEPS; step <= PULL_STEPS; step += 1) {
      const completed = Math.round((total * step) / PULL_STEPS)
      const line = { status: `pulling ${digest.slice(0, 12)}`, digest: `sha256:${digest}`, total }
      yield completed === 0 ? line : { ...line, completed }
      await sleep(sim.clock, sim.settings.pullStepMs, signal)
    }
  }
  yield { status: 'verifying sha256 digest' }
  yield { status: 'writing manifest' }
  if (installed === undefined)
    sim.inventory.add({ name: displayName(name), modifiedAt: sim.clock.now() })
  yield { status: 'success' }
}

function pullError({ sim }: Exchange, { host, namespace, model, tag }: ModelName): string {
  if (sim.settings.registry === 'missing') return 'pull model manifest: file does not exist'
  const url = `https://${host}/v2/${namespace}/${model}/manifests/${tag}`
  return `pull model manifest: Get "${url}": dial tcp: lookup ${host} on 192.0.2.53:53: no such host`
}

function layersOf(model: SimModel): { digest: string; total: number }[] {
  return [
    { digest: model.blob, total: model.size },
    { digest: layerDigest(`${model.template}`), total: 1700 },
    { digest: layerDigest(JSON.stringify(model.parameters)), total: 140 },
  ]
}

const layerDigest = (content: string): string => seededRandom(hashOf(content)).hex(64)

async function* push({ sim }: Exchange, name: ModelName): Progress {
  yield { status: 'retrieving manifest' }
  const model = sim.inventory.find(name)
  if (model === undefined) {
    yield { error: "couldn't retrieve manifest: file does not exist" }
    return
  }
  yield { error: `push model manifest: Put "https://${name.host}": dial tcp: no such host` }
}

async function* create(exchange: Exchange, name: ModelName, request: Decoded): Progress {
  const { sim } = exchange
  const from = textOf(request['from'])
  const parsed = parseName(from)
  const base = parsed === undefined ? undefined : sim.inventory.find(parsed)
  if (from !== '' && base === undefined) {
    yield { status: 'pulling manifest' }
    yield { error: pullError(exchange, parsed ?? name) }
    return
  }
  const model = base ?? makeModel({ name: displayName(name) })
  const system = textOf(request['system'])
  yield { status: `using existing layer sha256:${model.blob}` }
  yield { status: `using existing layer sha256:${layerDigest(model.template)}` }
  if (system !== '') yield { status: `creating new layer sha256:${layerDigest(system)}` }
  if (Object.keys(model.parameters).length > 0) {
    yield { status: `using existing layer sha256:${layerDigest(JSON.stringify(model.parameters))}` }
  }
  yield { status: 'writing manifest' }
  sim.inventory.add({
    ...model,
    name: displayName(name),
    system: system === '' ? model.system : system,
    digest: layerDigest(`${model.digest}${system}`),
    modifiedAt: sim.clock.now(),
  } as Parameters<typeof makeModel>[0])
  yield { status: 'success' }
}

// ---- blobs ----

const blobsOf = new WeakMap<object, Set<string>>()

/** Blobs uploaded to this worker, by digest. */
function uploaded({ sim }: Exchange): Set<string> {
  const known = blobsOf.get(sim) ?? new Set<string>()
  blobsOf.set(sim, known)
  return known
}

/** Reads the body itself: a blob may be larger than what is kept of a body. */
export async function blobRoute(exchange: Exchange): Promise<void> {
  const { params, req, reply } = exchange
  const digest = params['digest'] ?? ''
  if (!/^sha256[:-][\da-f]{64}$/u.test(digest)) {
    await reply.send(400, { 'Content-Type': JSON_UTF8 }, goJson({ error: 'invalid digest format' }))
    return
  }
  const known = uploaded(exchange).has(digest) || isWeights(exchange, digest)
  if (req.method === 'HEAD') {
    if (known) await reply.send(200, {})
    else await reply.send(404, { 'Content-Type': JSON_UTF8 }, missingBlob(digest))
    return
  }
  const hash = createHash('sha256')
  for await (const chunk of req as AsyncIterable<Buffer>) hash.update(chunk)
  if (known) {
    await reply.send(200, {})
    return
  }
  const got = `sha256:${hash.digest('hex')}`
  if (got !== digest) {
    const error = `digest mismatch, expected "${digest}", got "${got}"`
    await reply.send(400, { 'Content-Type': JSON_UTF8 }, goJson({ error }))
    return
  }
  uploaded(exchange).add(digest)
  await reply.send(201, {})
}

const isWeights = ({ sim }: Exchange, digest: string): boolean =>
  sim.inventory.list().some((model) => digest.endsWith(model.blob))

const missingBlob = (digest: string): string =>
  goJson({ error: `blob ${JSON.stringify(digest)} not found` })
