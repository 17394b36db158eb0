// Model inventories for the demo fleet: plausible, overlapping, and with the
// oddities of real fleets: long names, one drifting digest, embedding models.

import type { ModelSpec } from './models.ts'
import { seededRandom, type Random } from './random.ts'

const COMMON: readonly ModelSpec[] = [
  {
    name: 'qwen3:8b',
    family: 'qwen3',
    context: 40_960,
    capabilities: ['completion', 'tools', 'thinking'],
  },
  { name: 'llama3.2:3b', family: 'llama', context: 131_072, capabilities: ['completion', 'tools'] },
  {
    name: 'nomic-embed-text:latest',
    family: 'nomic-bert',
    context: 2048,
    embeddingLength: 768,
    size: 274_302_450,
    capabilities: ['embedding'],
  },
]

const OTHERS: readonly ModelSpec[] = [
  {
    name: 'gemma4:12b',
    family: 'gemma4',
    context: 131_072,
    capabilities: ['completion', 'vision', 'tools', 'thinking'],
  },
  {
    name: 'gemma4:4b',
    family: 'gemma4',
    context: 131_072,
    capabilities: ['completion', 'vision', 'tools'],
  },
  {
    name: 'llama3.3:70b',
    family: 'llama',
    context: 131_072,
    capabilities: ['completion', 'tools'],
  },
  {
    name: 'qwen3:32b',
    family: 'qwen3',
    context: 40_960,
    capabilities: ['completion', 'tools', 'thinking'],
  },
  {
    name: 'qwen3-coder:30b',
    family: 'qwen3moe',
    context: 262_144,
    capabilities: ['completion', 'tools', 'insert'],
  },
  {
    name: 'qwen3-vl:8b',
    family: 'qwen3vl',
    context: 262_144,
    capabilities: ['completion', 'vision', 'tools', 'thinking'],
    maxSlots: 1,
  },
  {
    name: 'gpt-oss:20b',
    family: 'gptoss',
    context: 131_072,
    capabilities: ['completion', 'tools', 'thinking'],
    quantization: 'MXFP4',
  },
  {
    name: 'deepseek-r1:14b',
    family: 'qwen2',
    context: 131_072,
    capabilities: ['completion', 'thinking'],
  },
  {
    name: 'mistral-small3.2:24b',
    family: 'mistral3',
    context: 131_072,
    capabilities: ['completion', 'vision', 'tools'],
  },
  {
    name: 'phi4:14b',
    family: 'phi3',
    context: 16_384,
    capabilities: ['completion'],
    parameters: { num_ctx: 16_384 },
  },
  {
    name: 'bge-m3:567m',
    family: 'bert',
    context: 8192,
    embeddingLength: 1024,
    size: 1_157_672_605,
    capabilities: ['embedding'],
  },
  {
    name: 'hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
    family: 'llama',
    context: 131_072,
    capabilities: ['completion', 'tools'],
  },
  {
    name: 'hf.co/unsloth/Qwen3-30B-A3B-Thinking-2507-GGUF:UD-Q4_K_XL',
    family: 'qwen3moe',
    context: 262_144,
    capabilities: ['completion', 'tools', 'thinking'],
  },
  {
    name: 'orcarouter/support-assistant-german-legal-finetune:2026-10-q5',
    family: 'llama',
    context: 32_768,
    capabilities: ['completion', 'tools'],
    parameterSize: '8.0B',
    quantization: 'Q5_K_M',
  },
]

const FILLER_FAMILIES = [
  'qwen3',
  'llama3',
  'gemma4',
  'mistral',
  'phi4',
  'granite4',
  'olmo3',
  'smollm3',
]
const FILLER_SIZES = ['1b', '3b', '4b', '7b', '8b', '14b', '27b', '32b', '70b']

/** A worker with fewer would look broken rather than small. */
const MIN_MODELS_PER_WORKER = 4

/** One inventory per worker; together about `models` different models. */
export function demoInventories(workers: number, models: number, seed: number): ModelSpec[][] {
  const random = seededRandom(seed)
  const pool = poolOf(models, random)
  const inventories = Array.from({ length: workers }, () => COMMON.slice(0, models))
  for (const [index, spec] of pool.entries()) {
    inventories[index % workers]?.push(spec)
    // Half of all models are installed in a second place, so that there is a choice.
    const second = random.int(workers)
    if (random.next() < 0.5 && second !== index % workers) inventories[second]?.push(spec)
  }
  for (const inventory of inventories) {
    while (inventory.length < Math.min(MIN_MODELS_PER_WORKER, models) && pool.length > 0) {
      inventory.push(random.pick(pool))
    }
  }
  drift(inventories)
  return inventories.map(withoutDoubles)
}

function poolOf(models: number, random: Random): ModelSpec[] {
  const pool = OTHERS.slice(0, Math.max(0, models - COMMON.length))
  for (let index = 0; pool.length + COMMON.length < models; index += 1) {
    const family = FILLER_FAMILIES[index % FILLER_FAMILIES.length] ?? 'llama3'
    const size = FILLER_SIZES[random.int(FILLER_SIZES.length)] ?? '8b'
    pool.push({ name: `${family}-tune-${String(index + 1).padStart(3, '0')}:${size}` })
  }
  return pool
}

/** The last worker pulled the most used model at another time than the others. */
function drift(inventories: ModelSpec[][]): void {
  const last = inventories.at(-1)
  const [first] = last ?? []
  if (inventories.length < 2 || last === undefined || first === undefined) return
  last[0] = { ...first, digest: seededRandom(99).hex(64) }
}

/** The last of a name counts. */
const withoutDoubles = (inventory: readonly ModelSpec[]): ModelSpec[] =>
  Array.from(new Map(inventory.map((spec) => [spec.name, spec])).values())
