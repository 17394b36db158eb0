// Ollama's own protocol: /api/generate, /api/chat, /api/embed and the older /api/embeddings.
// Streams are NDJSON, and on by default; control requests are answered with one JSON object.

import {
  conversationOf,
  conversationOfPrompt,
  isBackgroundTask,
  messagesOf,
  userOf,
} from './conversation.ts'
import { emptyTally, tallyContent, tallyMessage, tallyTools, type Tally } from './content.ts'
import type { Dialect, Ending, Need, RequestFacts, RequestKind, Usage } from './dialect.ts'
import {
  complete,
  count,
  documentEnding,
  errorText,
  failed,
  incomplete,
  positive,
  NO_USAGE,
} from './ending.ts'
import { embeddingInput } from './embedding-input.ts'
import {
  foldKeys,
  list,
  positiveInteger,
  record,
  text,
  type Fields,
  type JsonRecord,
} from './json-fields.ts'
import { readJsonTail, type JsonTail } from './json-tail.ts'
import { keepAliveIsZero } from './keep-alive.ts'
import { ollamaErrors } from './ollama-errors.ts'
import { requestModel } from './request-model.ts'

export const ollama: Dialect = {
  name: 'ollama',
  errors: ollamaErrors,
  framing: 'ndjson',
  heartbeat: undefined, // clients fail on a blank line, and nothing else is skipped by all of them

  read(body, path) {
    const fields = foldKeys(body)
    const model = requestModel(fields, path)
    switch (path) {
      case '/api/chat':
        return readChat(fields, model)
      case '/api/generate':
        return readGenerate(fields, model)
      default:
        return readEmbed(fields, model, path)
    }
  },

  ending: (tail, streamed) => (streamed ? lastLineEnding(tail) : bodyEnding(tail)),
}

function readChat(fields: Fields, model: string): RequestFacts {
  const messages = messagesOf(fields)
  const tools = list(fields.get('tools'))
  const tally = emptyTally()
  for (const message of messages) tallyMessage(tally, message)
  tallyTools(tally, tools)
  return {
    ...common(fields, model),
    ...work(fields, messages.length === 0, [
      ...needsOf(fields, tally),
      ...(tools.length > 0 ? (['tools'] as const) : []),
    ]),
    ...weight(tally),
    conversation: conversationOf('', messages),
    background: isBackgroundTask(messages),
  }
}

function readGenerate(fields: Fields, model: string): RequestFacts {
  const prompt = fields.get('prompt') ?? ''
  const system = text(fields.get('system'))
  const tally = emptyTally()
  tallyMessage(tally, { images: fields.get('images') })
  tallyContent(tally, prompt)
  for (const name of ['system', 'suffix', 'template']) tally.chars += text(fields.get(name)).length
  // Token ids of an earlier answer: each weighs what a token weighs on average.
  tally.chars += list(fields.get('context')).length * CHARS_PER_TOKEN
  const inserts = text(fields.get('suffix')) !== ''
  return {
    ...common(fields, model),
    ...work(fields, prompt === '', [
      ...needsOf(fields, tally),
      ...(inserts ? (['insert'] as const) : []),
    ]),
    ...weight(tally),
    conversation: conversationOfPrompt(system, text(prompt)),
    background: false,
  }
}

const CHARS_PER_TOKEN = 4

function readEmbed(fields: Fields, model: string, path: string): RequestFacts {
  const input = embeddingInput(fields.get(path === '/api/embed' ? 'input' : 'prompt'))
  return {
    ...common(fields, model),
    stream: false,
    // There is no unloading here: Ollama embeds first and lets the model go afterwards.
    kind: input.empty ? 'load' : 'inference',
    needs: ['embedding'],
    promptChars: input.chars,
    contextChars: input.longest,
    images: 0,
    outputTokens: undefined,
    conversation: '',
    background: false,
  }
}

function common(fields: Fields, model: string) {
  const options = record(fields.get('options')) ?? {}
  return {
    model,
    stream: fields.get('stream') !== false,
    softNeeds: [],
    outputTokens: positiveInteger(options['num_predict']),
    numCtx: options['num_ctx'] ?? undefined,
    keepAlive: fields.get('keep_alive'),
    usageInStream: true,
    user: userOf(fields),
  }
}

function weight(tally: Tally) {
  return { promptChars: tally.chars, contextChars: tally.chars, images: tally.images }
}

/** An unload needs nothing: it is no reason to refuse it that the model cannot do something. */
function work(fields: Fields, empty: boolean, needs: readonly Need[]) {
  const unload = empty && keepAliveIsZero(fields.get('keep_alive'))
  const emptyKind: RequestKind = unload ? 'unload' : 'load'
  return { kind: empty ? emptyKind : ('inference' as const), needs: unload ? [] : needs }
}

function needsOf(fields: Fields, tally: Tally): readonly Need[] {
  const needs: Need[] = ['completion']
  if (tally.images > 0) needs.push('vision')
  const think = fields.get('think')
  if (think === true || (text(think) !== '' && think !== 'none')) needs.push('thinking')
  return needs
}

/** Of a long list of numbers, the older embeddings answer, the tail may hold nothing else. */
function bodyEnding(tail: Buffer): Ending {
  return documentEnding(tail, nativeUsage, (end) => isNativeEnd(end) || !tail.includes('"'))
}

/** The last line tells; it may be longer than the tail, and it may lack its newline. */
function lastLineEnding(tail: Buffer): Ending {
  const line = lastLine(tail)
  const end = readJsonTail(line)
  if (end === undefined) return incomplete()
  const error = errorText(end.object['error'])
  if (error !== undefined) return failed(error)
  const usage = nativeUsage(end.object)
  return isNativeEnd(end) ? complete(usage) : incomplete(usage)
}

function lastLine(tail: Buffer): Buffer {
  let end = tail.length
  while (end > 0 && (tail[end - 1] === LF || tail[end - 1] === CR)) end -= 1
  return tail.subarray(end === 0 ? 0 : tail.lastIndexOf(LF, end - 1) + 1, end)
}

const LF = 0x0a
const CR = 0x0d

/**
 * Chat and generate say `done`, in a stream on every line; embeddings do not, and are whole when
 * they parse. Of a line whose beginning is cut off `done` may be lost, but only an end has
 * durations. A rendered prompt, asked for by _debug_render_only, is all there is though not done.
 */
function isNativeEnd({ whole, object }: JsonTail): boolean {
  if (object['done'] !== undefined) return object['done'] === true || '_debug_info' in object
  return whole ? isEmbedding(object) : count(object['total_duration']) !== undefined
}

function isEmbedding(object: JsonRecord): boolean {
  return 'embeddings' in object || 'embedding' in object
}

function nativeUsage(object: JsonRecord): Usage {
  return {
    ...NO_USAGE,
    promptTokens: positive(object['prompt_eval_count']),
    outputTokens: count(object['eval_count']),
    promptNs: positive(object['prompt_eval_duration']),
    outputNs: positive(object['eval_duration']),
    loadNs: positive(object['load_duration']),
  }
}
