// The inventory: what is installed on a simulated worker, and how each model
// renders and counts a prompt.

import { displayName, fullName, keyOf, parseName, type ModelName } from './names.ts'
import { hashOf, seededRandom } from './random.ts'

/** How a model is described by whoever starts the worker. Only the name is needed. */
export interface ModelSpec {
  name: string
  /** `completion`, `tools`, `insert`, `vision`, `embedding`, `thinking`, `image`, `audio`. Default: guessed from the name. */
  capabilities?: readonly string[]
  family?: string
  /** Default: from the tag, as in `8b`. */
  parameterSize?: string
  quantization?: string
  /** Context the model was trained for, in tokens. Default 32768 (512 for embedding models). */
  context?: number
  embeddingLength?: number
  /** Bytes on disk. Default: from the parameter size. */
  size?: number
  /** Manifest digest, 64 hex. Default: from the name, so that equal names agree across workers. */
  digest?: string
  /** Weights blob, 64 hex. Models with the same blob share one runner. */
  blob?: string
  /** Milliseconds since 1970. */
  modifiedAt?: number
  template?: string
  system?: string
  license?: string
  /** Modelfile PARAMETERs, such as `num_ctx`. */
  parameters?: Readonly<Record<string, number | string | boolean | readonly string[]>>
  modelInfo?: Readonly<Record<string, unknown>>
  tensors?: readonly { name: string; type: string; shape: readonly number[] }[]
  /** Set for a stub that runs on another host. */
  remote?: { model: string; host: string }
  /** Characters per token. Default 4. */
  charsPerToken?: number
  /** Milliseconds to load; default the worker's. */
  loadMs?: number
  /** Most slots this model can have; 1 for embedding models. */
  maxSlots?: number
}

export interface SimModel extends Required<
  Omit<ModelSpec, 'system' | 'license' | 'remote' | 'loadMs' | 'maxSlots'>
> {
  key: string
  parsed: ModelName
  /** With host and namespace, as capability errors name it. */
  full: string
  system: string
  license: string
  remote: { model: string; host: string } | undefined
  loadMs: number | undefined
  maxSlots: number
}

const GUESSES: readonly (readonly [RegExp, readonly string[]])[] = [
  [/embed|minilm|bge|e5-/iu, ['embedding']],
  [/gpt-oss|deepseek-r1|magistral/iu, ['completion', 'tools', 'thinking']],
  [/vl|llava|vision|gemma[34]|pixtral/iu, ['completion', 'vision', 'tools']],
  [/qwen3(?!-coder)|thinking/iu, ['completion', 'tools', 'thinking']],
  [/coder|codellama|starcoder|codestral/iu, ['completion', 'tools', 'insert']],
  [/gemma2|phi|tinyllama/iu, ['completion']],
]

const BYTES_PER_PARAMETER = 0.6

export function makeModel(spec: ModelSpec | string): SimModel {
  const given: ModelSpec = typeof spec === 'string' ? { name: spec } : spec
  const parsed = parseName(given.name)
  if (parsed === undefined) throw new Error(`not a model name: ${given.name}`)
  const key = keyOf(parsed)
  const capabilities = given.capabilities ?? guessCapabilities(given.name)
  const random = seededRandom(hashOf(key))
  return {
    digest: random.hex(64),
    blob: random.hex(64),
    modifiedAt: 1_790_000_000_000 + (hashOf(key) % 5_000_000_000),
    ...weights(given, parsed, capabilities),
    quantization: 'Q4_K_M',
    template: templateFor(capabilities),
    parameters: {},
    charsPerToken: 4,
    system: '',
    license: '',
    remote: undefined,
    loadMs: undefined,
    maxSlots: capabilities.includes('embedding') ? 1 : Number.POSITIVE_INFINITY,
    ...given,
    name: displayName(parsed),
    key,
    parsed,
    full: fullName(parsed),
    capabilities,
  }
}

/** What depends on how large the model is. */
function weights(given: ModelSpec, parsed: ModelName, capabilities: readonly string[]) {
  const embedding = capabilities.includes('embedding')
  const billions = Number(/(\d+(?:\.\d+)?)b/iu.exec(parsed.tag)?.[1] ?? (embedding ? 0.1 : 8))
  const word = /^[a-z]+\d?/iu.exec(parsed.model)?.[0] ?? 'llama'
  const family = given.family ?? (embedding ? 'bert' : word.toLowerCase())
  const context = given.context ?? (embedding ? 512 : 32_768)
  const embeddingLength = given.embeddingLength ?? (embedding ? 64 : 4096)
  return {
    family,
    parameterSize: `${billions}B`,
    context,
    embeddingLength,
    size: Math.round(billions * 1e9 * BYTES_PER_PARAMETER),
    modelInfo: modelInfoFor(family, context, embeddingLength, billions),
    tensors: tensorsFor(embeddingLength),
  }
}

function guessCapabilities(name: string): readonly string[] {
  return GUESSES.find(([pattern]) => pattern.test(name))?.[1] ?? ['completion', 'tools']
}

function templateFor(capabilities: readonly string[]): string {
  if (capabilities.includes('embedding')) return '{{ .Prompt }}'
  const tools = capabilities.includes('tools')
    ? '{{- if .Tools }}tools: {{ .Tools }}\n{{ end }}'
    : ''
  const think = capabilities.includes('thinking') ? '{{ if .Think }}<think>{{ end }}' : ''
  const insert = capabilities.includes('insert')
    ? '{{- if .Suffix }}<PRE> {{ .Prompt }} <SUF>{{ .Suffix }} <MID>{{ else }}'
    : ''
  const end = insert === '' ? '' : '{{ end }}'
  return `${insert}${tools}{{- range .Messages }}{{ .Role }}: {{ .Content }}\n{{ end }}assistant: ${think}${end}`
}

function modelInfoFor(
  family: string,
  context: number,
  embeddingLength: number,
  billions: number,
): Record<string, unknown> {
  return {
    'general.architecture': family,
    'general.file_type': 15,
    'general.parameter_count': Math.round(billions * 1e9),
    'general.quantization_version': 2,
    [`${family}.attention.head_count`]: 32,
    [`${family}.block_count`]: 36,
    [`${family}.context_length`]: context,
    [`${family}.embedding_length`]: embeddingLength,
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.tokens': null,
  }
}

function tensorsFor(embeddingLength: number): SimModel['tensors'] {
  const layer = (block: number): SimModel['tensors'] => [
    { name: `blk.${block}.attn_q.weight`, type: 'Q4_K', shape: [embeddingLength, embeddingLength] },
    {
      name: `blk.${block}.ffn_down.weight`,
      type: 'Q6_K',
      shape: [embeddingLength * 3, embeddingLength],
    },
  ]
  return [
    { name: 'token_embd.weight', type: 'Q4_K', shape: [embeddingLength, 151_936] },
    ...Array.from({ length: 4 }, (_, block) => layer(block)).flat(),
  ]
}

// ---- prompts ----

export interface Prompt {
  messages: readonly { role: string; content: string }[]
  system: string
  suffix: string
  tools: readonly unknown[]
  think: boolean
}

/** What the model is given to read. The few template features that the models here use, no more. */
export function renderPrompt(model: SimModel, prompt: Prompt): string {
  if (prompt.suffix !== '') return `<PRE> ${lastUser(prompt)} <SUF>${prompt.suffix} <MID>`
  if (!model.template.includes('.Messages')) {
    const system = prompt.system === '' ? '' : `${prompt.system} `
    return model.template.includes('.System') ? `${system}${lastUser(prompt)} ` : lastUser(prompt)
  }
  const tools =
    prompt.tools.length > 0 && model.template.includes('.Tools')
      ? `tools: ${JSON.stringify(prompt.tools)}\n`
      : ''
  const system = prompt.system === '' ? '' : `system: ${prompt.system}\n`
  const lines = prompt.messages.map(({ role, content }) => `${role}: ${content}\n`).join('')
  const think = prompt.think && model.template.includes('.Think') ? '<think>' : ''
  return `${tools}${system}${lines}assistant: ${think}`
}

const lastUser = (prompt: Prompt): string => prompt.messages.at(-1)?.content ?? ''

/** Two tokens for begin and prefix, then one for every few characters. */
export const countTokens = (model: SimModel, text: string): number =>
  Math.ceil(text.length / model.charsPerToken) + 2

/** An over-long prompt is cut to about half the context, silently. */
export function truncatedTokens(tokens: number, context: number): number {
  if (tokens < context) return tokens
  const keep = Math.max(0, Math.min(5, context - 2))
  return keep + Math.ceil((context - keep) / 2)
}
