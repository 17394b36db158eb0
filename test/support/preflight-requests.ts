// Requests that differ in what they need of a model, in each dialect: the rows of the table of
// preflight's verdicts.

export type Wish =
  | 'plain'
  | 'empty needs'
  | 'tools'
  | 'image'
  | 'thinking'
  | 'long prompt'
  | 'much output'
  | 'num_ctx 3000'
  | 'num_ctx 9000'
  | 'long, 16000'
  | 'num_ctx "3000"'

export const WISHES: readonly Wish[] = [
  'plain',
  'empty needs',
  'tools',
  'image',
  'thinking',
  'long prompt',
  'much output',
  'num_ctx 3000',
  'num_ctx 9000',
  'long, 16000',
  'num_ctx "3000"',
]

/** 10,000 tokens by the default of four characters each. */
const LONG = 'word five '.repeat(4000)
const OUTPUT = 32_000
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const schema = { type: 'object', properties: {} }

type Body = Readonly<Record<string, unknown>>

export interface PreflightDialect {
  path: string
  /** Undefined where the dialect cannot say that. */
  bodyOf(wish: Wish): Body | undefined
}

export const PREFLIGHT_DIALECTS: readonly PreflightDialect[] = [
  { path: '/api/chat', bodyOf: nativeChat },
  { path: '/api/generate', bodyOf: nativeGenerate },
  { path: '/v1/chat/completions', bodyOf: openaiChat },
  { path: '/v1/responses', bodyOf: openaiResponses },
  { path: '/v1/messages', bodyOf: anthropic },
]

const NUM_CTX: Readonly<Partial<Record<Wish, unknown>>> = {
  'num_ctx 3000': 3000,
  'num_ctx 9000': 9000,
  'long, 16000': 16_000,
  'num_ctx "3000"': '3000',
}

const textOf = (wish: Wish): string => (wish.startsWith('long') ? LONG : 'hi')
const user = (content: unknown, more: object = {}) => [{ role: 'user', content, ...more }]

function nativeChat(wish: Wish): Body {
  const tool = { type: 'function', function: { name: 'f', description: '', parameters: schema } }
  const plain = { messages: user(textOf(wish)), stream: false }
  switch (wish) {
    case 'empty needs':
      return { ...plain, messages: user('hi', { images: [] }), tools: [], think: null }
    case 'tools':
      return { ...plain, tools: [tool] }
    case 'image':
      return { ...plain, messages: user('hi', { images: [PNG] }) }
    case 'thinking':
      return { ...plain, think: true }
    default:
      return { ...plain, ...nativeOptions(wish) }
  }
}

function nativeGenerate(wish: Wish): Body | undefined {
  const plain = { prompt: textOf(wish), stream: false }
  switch (wish) {
    case 'tools':
      return undefined
    case 'empty needs':
      return { ...plain, images: [], suffix: '', think: null }
    case 'image':
      return { ...plain, images: [PNG] }
    case 'thinking':
      return { ...plain, think: true }
    default:
      return { ...plain, ...nativeOptions(wish) }
  }
}

function nativeOptions(wish: Wish): Body {
  if (wish === 'much output') return { options: { num_predict: OUTPUT } }
  return wish in NUM_CTX ? { options: { num_ctx: NUM_CTX[wish] } } : {}
}

function openaiChat(wish: Wish): Body {
  const tool = { type: 'function', function: { name: 'f', parameters: schema } }
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
  switch (wish) {
    case 'empty needs':
      return { messages: user('hi'), tools: [], reasoning_effort: null }
    case 'tools':
      return { messages: user('hi'), tools: [tool] }
    case 'image':
      return { messages: user([{ type: 'text', text: 'hi' }, image]) }
    case 'thinking':
      return { messages: user('hi'), reasoning_effort: 'high' }
    case 'much output':
      return { messages: user('hi'), max_tokens: OUTPUT }
    default:
      return { messages: user(textOf(wish)), ...ignoredOptions(wish) }
  }
}

function openaiResponses(wish: Wish): Body {
  const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG}` }
  switch (wish) {
    case 'empty needs':
      return { input: 'hi', tools: [], reasoning: null }
    case 'tools':
      return { input: 'hi', tools: [{ type: 'function', name: 'f', parameters: schema }] }
    case 'image':
      return { input: user([{ type: 'input_text', text: 'hi' }, image]) }
    case 'thinking':
      return { input: 'hi', reasoning: { effort: 'high' } }
    case 'much output':
      return { input: 'hi', max_output_tokens: OUTPUT }
    default:
      return { input: textOf(wish), ...ignoredOptions(wish) }
  }
}

function anthropic(wish: Wish): Body {
  const source = { type: 'base64', media_type: 'image/png', data: PNG }
  const plain = { messages: user(textOf(wish)), max_tokens: 64 }
  switch (wish) {
    case 'empty needs':
      return { ...plain, tools: [], system: '' }
    case 'tools':
      return { ...plain, tools: [{ name: 'f', input_schema: schema }] }
    case 'image':
      return { ...plain, messages: user([{ type: 'image', source }]) }
    case 'thinking':
      return { ...plain, max_tokens: 2048, thinking: { type: 'enabled', budget_tokens: 1024 } }
    case 'much output':
      return { ...plain, max_tokens: OUTPUT }
    default:
      return { ...plain, ...ignoredOptions(wish) }
  }
}

/** Ollama reads no options on /v1. */
function ignoredOptions(wish: Wish): Body {
  return wish in NUM_CTX ? { options: { num_ctx: NUM_CTX[wish] } } : {}
}
