// The `options` of a native request: which type each must have, and what they
// mean to the scheduler and the engine. The order of the table is the order in
// which Ollama would complain.

import { SimError } from './errors.ts'
import type { SimModel } from './models.ts'

type OptionType = 'integer' | 'float32' | 'boolean' | 'string' | 'array'

const TYPES: Readonly<Record<string, OptionType>> = {
  num_ctx: 'integer',
  num_batch: 'integer',
  num_gpu: 'integer',
  main_gpu: 'integer',
  use_mmap: 'boolean',
  num_thread: 'integer',
  draft_num_predict: 'integer',
  num_keep: 'integer',
  seed: 'integer',
  num_predict: 'integer',
  top_k: 'integer',
  top_p: 'float32',
  min_p: 'float32',
  typical_p: 'float32',
  repeat_last_n: 'integer',
  temperature: 'float32',
  repeat_penalty: 'float32',
  presence_penalty: 'float32',
  frequency_penalty: 'float32',
  stop: 'array',
}

/** The smallest context a runner is started with. */
const MIN_CONTEXT = 4
const MIN_VISION_CONTEXT = 2048

export interface RunOptions {
  numCtx: number
  /** Undefined: no bound of its own. */
  numPredict: number | undefined
}

/** A wrong type is the client's fault and still a 500, as in Ollama. */
export function readOptions(
  model: SimModel,
  options: Readonly<Record<string, unknown>>,
  defaultContext: number,
): RunOptions {
  const merged = { ...model.parameters, ...withoutNull(options) }
  for (const [name, value] of Object.entries(merged)) checkType(name, value)
  const wanted = numberOf(merged['num_ctx']) ?? defaultContext
  const least = model.capabilities.includes('vision') ? MIN_VISION_CONTEXT : MIN_CONTEXT
  const predict = numberOf(merged['num_predict'])
  return {
    numCtx: Math.min(Math.max(wanted, least), model.context),
    numPredict: predict === undefined || predict < 0 ? undefined : predict,
  }
}

function checkType(name: string, value: unknown): void {
  const type = TYPES[name]
  if (type === undefined || fits(type, value)) return
  throw new SimError(500, `option "${name}" must be of type ${type}`)
}

function fits(type: OptionType, value: unknown): boolean {
  switch (type) {
    case 'integer':
    case 'float32':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'string':
      return typeof value === 'string'
    case 'array':
      return Array.isArray(value)
  }
}

function withoutNull(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null))
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? Math.trunc(value) : undefined
