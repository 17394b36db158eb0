// What a worker tells about itself: version, status, installed and loaded models.

import { bind, textOf } from '../bind.ts'
import type { Struct } from '../decode.ts'
import { SimError } from '../errors.ts'
import { nativeError } from '../form-native.ts'
import { openaiError } from '../form-openai.ts'
import { goJson } from '../go-json.ts'
import type { SimErrorLike, Body } from '../job.ts'
import type { SimModel } from '../models.ts'
import { displayName, parseName, splitSource } from '../names.ts'
import { JSON_UTF8, stamp, type Exchange, type Sim } from '../sim.ts'

/** keep_alive "forever" is the largest duration Go has. */
const MAX_DURATION_MS = 9_223_372_036_854

export async function rootRoute({ reply }: Exchange): Promise<void> {
  await reply.send(200, { 'Content-Type': 'text/plain; charset=utf-8' }, 'Ollama is running')
}

export async function versionRoute({ sim, reply }: Exchange): Promise<void> {
  await reply.send(200, { 'Content-Type': JSON_UTF8 }, goJson({ version: sim.settings.version }))
}

export async function statusRoute({ sim, reply }: Exchange): Promise<void> {
  const disabled = sim.settings.cloud === 'disabled'
  const cloud = { disabled, source: disabled ? 'env' : 'none' }
  await reply.send(200, { 'Content-Type': JSON_UTF8 }, goJson({ cloud }))
}

export async function tagsRoute({ sim, reply, req }: Exchange): Promise<void> {
  const body = goJson({ models: sim.inventory.list().map((model) => tagOf(sim, model)) })
  if (req.method === 'HEAD') {
    // Longer than the buffer, so a real one commits to no length.
    reply.begin(200, { 'Content-Type': JSON_UTF8 })
    await reply.finish([''])
    return
  }
  await reply.send(200, { 'Content-Type': JSON_UTF8 }, body)
}

function tagOf(sim: Sim, model: SimModel): Record<string, unknown> {
  const known = sim.features.tagsCapabilities
  return {
    name: model.name,
    model: model.name,
    remote_model: model.remote?.model,
    remote_host: model.remote?.host,
    modified_at: modifiedAt(model),
    size: model.size,
    digest: model.digest,
    details: {
      ...detailsOf(model),
      context_length: known ? model.context : undefined,
      embedding_length: known ? model.embeddingLength : undefined,
    },
    capabilities: known ? model.capabilities : undefined,
  }
}

const detailsOf = (model: SimModel) => ({
  parent_model: '',
  format: model.remote === undefined ? 'gguf' : '',
  family: model.family,
  families: [model.family],
  parameter_size: model.parameterSize,
  quantization_level: model.quantization,
})

/** Unlike other times this one is the model's own, with the same digits each time. */
function modifiedAt(model: SimModel): string {
  const iso = new Date(model.modifiedAt).toISOString()
  return iso.replace(
    /\.(\d{3})Z$/u,
    (_, ms: string) => `.${ms}${model.digest.replaceAll(/\D/gu, '').padEnd(6, '7').slice(0, 5)}1Z`,
  )
}

export async function psRoute({ sim, reply }: Exchange): Promise<void> {
  const loading = sim.features.psListsLoading ? sim.scheduler.loading() : undefined
  const now = sim.clock.now()
  const models = [
    ...(loading === undefined ? [] : [psEntry(sim, loading.model, loading.numCtx, now)]),
    ...sim.scheduler
      .loaded()
      .map((runner) => psEntry(sim, runner.model, runner.numCtx, runner.expiresAt)),
  ]
  await reply.send(200, { 'Content-Type': JSON_UTF8 }, goJson({ models }))
}

function psEntry(sim: Sim, model: SimModel, numCtx: number, expiresAt: number) {
  const size = model.size + numCtx * model.embeddingLength * 4
  return {
    name: model.name,
    model: model.name,
    size,
    digest: model.digest,
    details: detailsOf(model),
    expires_at: stamp(sim, Math.min(expiresAt, sim.clock.now() + MAX_DURATION_MS)),
    size_vram: Math.round(size * sim.settings.gpuShare),
    context_length: sim.features.psContext ? numCtx : undefined,
  }
}

const SHOW_REQUEST: Struct = {
  model: 'string',
  name: 'string',
  system: 'string',
  verbose: 'bool',
  options: 'any',
}

export async function showRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, nativeError, () => {
    const request = bind(exchange, SHOW_REQUEST, 'api.ShowRequest')
    const name = textOf(request['model']) || textOf(request['name'])
    if (name === '') throw new SimError(400, 'model is required')
    const model = find(exchange.sim, name)
    const body = goJson(describe(exchange.sim, model, request['verbose'] === true))
    return { contentType: JSON_UTF8, body }
  })
}

/** Show names a missing model in its full display form. */
function find(sim: Sim, raw: string): SimModel {
  const split = sim.features.cloudSuffix ? splitSource(raw) : { name: raw, source: 'none' as const }
  if ('conflict' in split) throw new SimError(400, split.conflict)
  if (split.source === 'cloud' && sim.settings.cloud === 'disabled') {
    throw new SimError(403, 'ollama cloud is disabled: remote model details are unavailable', {
      nativeShape: true,
    })
  }
  const parsed = parseName(split.name)
  if (parsed === undefined) throw new SimError(400, 'invalid model name')
  const model = sim.inventory.find(parsed)
  if (model === undefined) throw new SimError(404, `model '${displayName(parsed)}' not found`)
  return model
}

function describe(sim: Sim, model: SimModel, verbose: boolean): Record<string, unknown> {
  const parameters = printParameters(model)
  return {
    license: model.license === '' ? undefined : model.license,
    modelfile: modelfileOf(model),
    parameters: parameters === '' ? undefined : parameters,
    template: model.template,
    system: model.system === '' ? undefined : model.system,
    details: detailsOf(model),
    remote_model: model.remote?.model,
    remote_host: model.remote?.host,
    model_info: verbose ? withTokens(model.modelInfo) : model.modelInfo,
    tensors: model.tensors,
    capabilities: sim.features.showCapabilities ? model.capabilities : undefined,
    modified_at: modifiedAt(model),
  }
}

/** Verbose fills the arrays that are otherwise null. */
const withTokens = (info: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(info).map(([key, value]) => [
      key,
      value ?? Array.from({ length: 300 }, (_, at) => at % 7),
    ]),
  )

function modelfileOf(model: SimModel): string {
  const blob = `/usr/share/ollama/.ollama/models/blobs/sha256-${model.blob}`
  const system = model.system === '' ? '' : `SYSTEM ${model.system}\n`
  const parameters = parameterLines(model)
    .map(([name, value]) => `PARAMETER ${name} ${String(value)}\n`)
    .join('')
  const head = `# Modelfile generated by "ollama show"\n# To build a new Modelfile based on this, replace FROM with:\n# FROM ${model.name}\n\n`
  return `${head}FROM ${blob}\nTEMPLATE ${quoteTemplate(model.template)}\n${system}${parameters}`
}

function quoteTemplate(template: string): string {
  if (template.includes('"')) return `"""${template}"""`
  return template.includes('\n') ? `"${template}"` : template
}

function parameterLines(model: SimModel): [string, number | string | boolean][] {
  return Object.entries(model.parameters).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly string[]) : [value as string]).map(
      (item): [string, number | string | boolean] => [name, item],
    ),
  )
}

/** Padded to 30 columns; numbers as Go's %g prints them, strings quoted. */
function printParameters(model: SimModel): string {
  return parameterLines(model)
    .map(([name, value]) => `${name.padEnd(30)} ${goValue(value)}`)
    .join('\n')
}

/** Numbers are floats to Go, and its %#v turns to an exponent from a million on. */
function goValue(value: number | string | boolean): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'boolean' || Math.abs(value) < 1e6) return String(value)
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e')
  return `${mantissa}e+${exponent.replace('+', '').padStart(2, '0')}`
}

// ---- the same as OpenAI lists it ----

const openaiModel = (id: string, model: SimModel) => ({
  id,
  object: 'model',
  created: Math.floor(model.modifiedAt / 1000),
  owned_by: model.parsed.namespace,
})

/** An empty list is null, as Go writes a nil slice. */
export async function openaiModelsRoute({ sim, reply }: Exchange): Promise<void> {
  const data = sim.inventory.list().map((model) => openaiModel(model.name, model))
  const body = goJson({ object: 'list', data: data.length === 0 ? null : data })
  await reply.send(200, { 'Content-Type': 'application/json' }, `${body}\n`)
}

export async function openaiModelRoute(exchange: Exchange): Promise<void> {
  await answering(exchange, openaiError, () => {
    const name = exchange.params['model'] ?? ''
    const body = goJson(openaiModel(name, find(exchange.sim, name)))
    return { contentType: 'application/json', body: `${body}\n` }
  })
}

async function answering(
  { reply }: Exchange,
  fail: (error: SimErrorLike) => Body,
  work: () => Body,
): Promise<void> {
  let status = 200
  let body: Body
  try {
    body = work()
  } catch (error) {
    if (!(error instanceof SimError)) throw error
    status = error.status
    body = fail(error)
  }
  await reply.send(status, { 'Content-Type': body.contentType }, body.body)
}
