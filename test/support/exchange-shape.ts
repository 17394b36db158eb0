// The shape of an HTTP exchange: what has to be the same each time, with ids,
// times, durations and generated words taken out. The text of each chunk stays as
// it is on the wire otherwise: order of fields, escapes, blanks and line ends.

export interface RawAnswer {
  status: number
  statusLine: string
  headers: readonly (readonly [string, string])[]
  framing: string
  chunks: readonly string[]
  endedBy: string
}

export interface AnswerShape {
  status_line: string
  /** In order; Date and Content-Length without their values. */
  headers: string[]
  framing: string
  /** Neighbours of the same shape are one. */
  chunks: string[]
}

/** Ends a chunk of which only the beginning is recorded. */
export const CUT = ':<cut>'

/** Cuts what a recording has cut, so that the rest can be compared. */
export function cutLike(answer: AnswerShape, recorded: AnswerShape): AnswerShape {
  const chunks = answer.chunks.map((chunk, index) => {
    const wanted = recorded.chunks[index]
    if (wanted === undefined || !wanted.endsWith(CUT)) return chunk
    return `${chunk.slice(0, wanted.length - CUT.length)}${CUT}`
  })
  return { ...answer, chunks }
}

const WORDS = new Set([
  'content',
  'thinking',
  'response',
  'text',
  'delta',
  'reasoning',
  'encrypted_content',
  'token',
])

const TIMES = new Set(['created_at', 'modified_at', 'expires_at'])

/** Numbers that the same request gives each time. */
const FIXED_NUMBERS = new Set([
  'index',
  'output_index',
  'content_index',
  'summary_index',
  'prompt_eval_count',
  'prompt_tokens',
  'input_tokens',
  'context_length',
  'embedding_length',
  'n_ctx',
  'n_prompt_tokens',
  'code',
  'temperature',
  'top_p',
  'top_logprobs',
  'max_output_tokens',
  'frequency_penalty',
  'presence_penalty',
  'cached_tokens',
  'reasoning_tokens',
  'vram_bytes',
])

export function shapeOf(answer: RawAnswer): AnswerShape {
  const headers = answer.headers.map(([name, value]) =>
    name === 'Date' || name === 'Content-Length' ? `${name}:` : `${name}: ${value}`,
  )
  const chunks = answer.chunks.map(shapeOfText)
  return {
    status_line: answer.statusLine,
    headers,
    framing: answer.framing,
    chunks: chunks.filter((chunk, index) => chunk !== chunks[index - 1]),
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\],:]|[^"\d{}[\],:]+|./gsu

interface Frame {
  kind: '{' | '['
  key: string
}

/** Walks JSON inside any text and takes out what differs from run to run. */
export function shapeOfText(text: string): string {
  const frames: Frame[] = []
  const tokens = withoutDates(text).match(TOKEN) ?? []
  let out = ''
  for (const [index, token] of tokens.entries()) {
    const frame = frames.at(-1)
    if (token === '{' || token === '[') {
      frames.push({ kind: token, key: frame?.key ?? '' })
    } else if (token === '}' || token === ']') {
      frames.pop()
    }
    if (token.startsWith('"') && tokens[index + 1] === ':' && frame?.kind === '{') {
      frame.key = JSON.parse(token) as string
      out += token
      continue
    }
    out += frame === undefined ? stableText(token) : valueShape(token, frame)
  }
  return collapseLists(out)
}

function valueShape(token: string, frame: Frame): string {
  if (token.startsWith('"')) return stringShape(token, frame.key)
  if (/^-?\d/u.test(token)) return FIXED_NUMBERS.has(frame.key) ? token : '<n>'
  return token
}

function stringShape(token: string, key: string): string {
  if (token === '"…"') return '<n>'
  if (key === 'embedding') return '"<base64>"'
  if (WORDS.has(key) && token !== '""') return '"<words>"'
  if (TIMES.has(key))
    return /\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/u.test(token) ? '"<time>"' : token
  if (key === 'description') return '"<words>"'
  return stableText(token)
}

/** An answer inside an answer has headers of its own. */
const withoutDates = (text: string): string =>
  text
    .replaceAll(/\nDate: [^\r]*/gu, '\nDate:')
    .replaceAll(/\nContent-Length: \d+/gu, '\nContent-Length:')

const stableText = (text: string): string =>
  text
    .replaceAll(/\b[\da-f]{64}\b/gu, '<hex64>')
    .replaceAll(/\b(chatcmpl|cmpl)-\d+/gu, '$1-<n>')
    .replaceAll(/\b(resp|rs|fc)_\d+/gu, '$1_<n>')
    .replaceAll(/\b(msg|req)_[\da-f]+/gu, '$1_<id>')

/** Of a long list of numbers or of like objects only the kind is kept. */
function collapseLists(text: string): string {
  return text
    .replaceAll(/\[<n>(?:,<n>)*\]/gu, '[<n>…]')
    .replaceAll(/(\[<n>…\])(?:,\[<n>…\])+/gu, '$1…')
    .replaceAll(/(?:\{"name":"[\w.]+","type":"\w+","shape":\[<n>…\]\},?)+/gu, '<tensors>')
    .replaceAll(/"bytes":\[<n>…\]/gu, '"bytes":<n>')
}
