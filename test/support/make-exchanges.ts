// Turns recorded exchanges with a real Ollama into the fixtures that the simulated
// worker is held against: requests as they were, answers by their shape.
// Run it by hand when there are new recordings:
//   bin/node dist/test/support/make-exchanges.js RECORDINGS_FOLDER

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CUT, shapeOf } from './exchange-shape.ts'

interface Recorded {
  name: string
  note?: string
  request: { method: string; path: string; headers: [string, string][]; body: string | null }
  response: {
    status: number
    status_line: string
    headers: [string, string][]
    framing: string
    chunks: string[]
    ended_by: string
  }
}

const FILES = ['general', 'native', 'openai', 'anthropic', 'management', 'scheduler']

function main(folder: string, target: string): void {
  mkdirSync(target, { recursive: true })
  const all = new Map<string, Recorded>()
  for (const file of FILES) {
    const lines = readFileSync(join(folder, `${file}.jsonl`), 'utf8')
      .trim()
      .split('\n')
    const recorded = lines.map((line) => JSON.parse(line) as Recorded)
    for (const exchange of recorded) all.set(exchange.name, exchange)
    write(join(target, `${file}.json`), recorded.map(reshape))
  }
  write(join(target, 'models.json'), modelsOf(all))
}

const write = (file: string, value: unknown): void =>
  writeFileSync(file, `${JSON.stringify(value, null, 1)}\n`)

function reshape({ name, note, request, response }: Recorded) {
  return {
    name,
    ...(note === undefined ? {} : { note }),
    request,
    answer: shapeOf({
      status: response.status,
      statusLine: response.status_line,
      headers: response.headers,
      framing: response.framing,
      chunks: response.chunks.map(uncut),
      endedBy: response.ended_by,
    }),
  }
}

/** Of a chunk that the recording cuts in its middle, the part before the cut list. */
function uncut(chunk: string): string {
  const cut = /[^"]…/u.exec(chunk)
  if (cut === null) return chunk
  return `${chunk.slice(0, chunk.lastIndexOf(':[', cut.index))}${CUT}`
}

interface Tag {
  name: string
  modified_at: string
  size: number
  digest: string
  details: Record<string, string & number>
  capabilities: string[]
}

interface Show {
  modelfile: string
  template: string
  system?: string
  parameters?: string
  model_info: Record<string, unknown>
  tensors: unknown[]
}

/** The models of the recording, as the simulation is told them. */
function modelsOf(all: Map<string, Recorded>): unknown[] {
  const answer = (name: string): string => all.get(name)?.response.chunks[0] ?? '{}'
  const { models } = JSON.parse(answer('tags')) as { models: Tag[] }
  return models.map((tag) => {
    const short = tag.name.replace(':latest', '')
    const show = all.has(`show-${short}`)
      ? (JSON.parse(answer(`show-${short}`)) as Show)
      : undefined
    return {
      name: tag.name,
      capabilities: tag.capabilities,
      family: tag.details['family'],
      parameterSize: tag.details['parameter_size'],
      quantization: tag.details['quantization_level'],
      context: tag.details['context_length'],
      embeddingLength: tag.details['embedding_length'],
      size: tag.size,
      digest: tag.digest,
      modifiedAt: Date.parse(tag.modified_at),
      charsPerToken: 1,
      ...(show === undefined ? { template: '{{ .Prompt }}' } : detailsOf(show)),
    }
  })
}

function detailsOf(show: Show) {
  const parameters = (show.parameters ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): [string, unknown] => {
      const value: unknown = JSON.parse(line.slice(31))
      const name = line.slice(0, 30).trim()
      return [name, name === 'stop' ? [value] : value]
    })
  return {
    blob: /sha256-([\da-f]{64})/u.exec(show.modelfile)?.[1],
    template: show.template,
    system: show.system ?? '',
    parameters: Object.fromEntries(parameters),
    modelInfo: show.model_info,
    tensors: show.tensors,
  }
}

main(process.argv[2] ?? '../shared/transcripts', 'test/fixtures/exchanges')
