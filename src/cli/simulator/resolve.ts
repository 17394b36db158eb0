// What Ollama says to a request before it schedules it: which installed model is meant, and what is
// asked of a model that it cannot do. Nothing here waits or runs.

import { SimError } from './errors.ts'
import type { Job } from './job.ts'
import type { SimModel } from './models.ts'
import { parseName, splitSource, type ModelName } from './names.ts'
import type { Sim } from './sim.ts'

type Kind = 'chat' | 'generate' | 'embed'

/** The installed model a request means, or the refusal Ollama has for its name. */
export function resolve(sim: Sim, raw: string, kind: Kind): SimModel {
  const name = sim.features.cloudSuffix ? withoutSource(sim, raw, kind) : raw
  const parsed = parseModelName(name, kind)
  const model = sim.inventory.find(parsed)
  if (model === undefined) throw notFound(raw, kind)
  if (model.remote !== undefined) throw cloudRefusal(sim)
  return model
}

function withoutSource(sim: Sim, raw: string, kind: Kind): string {
  const split = splitSource(raw)
  if ('conflict' in split) throw new SimError(400, split.conflict)
  if (split.source === 'cloud' && kind !== 'embed') throw cloudRefusal(sim)
  return split.name
}

function parseModelName(name: string, kind: Kind): ModelName {
  if (name === '' && kind === 'chat') throw new SimError(400, 'model is required')
  if (name === '') throw new SimError(404, "model '' not found")
  const parsed = parseName(name)
  if (parsed === undefined) throw new SimError(400, 'invalid model name')
  return parsed
}

export function notFound(raw: string, kind: Kind): SimError {
  if (kind === 'embed') return new SimError(404, `model "${raw}" not found, try pulling it first`)
  return new SimError(404, `model '${raw}' not found`)
}

export function cloudRefusal(sim: Sim, what = 'remote model is unavailable'): SimError {
  switch (sim.settings.cloud) {
    case 'disabled':
      return new SimError(403, `ollama cloud is disabled: ${what}`, { nativeShape: true })
    case 'signin':
      return new SimError(401, 'unauthorized', {
        nativeShape: true,
        extra: { signin_url: 'https://ollama.com/connect?name=simulated&key=c2ltdWxhdGVk' },
      })
    case 'unreachable':
      return new SimError(502, 'Post "https://ollama.com:443/api/chat": dial tcp: no such host', {
        nativeShape: true,
      })
  }
}

/** Whether the answer begins with thoughts. */
export function wantsThinking(sim: Sim, model: SimModel, job: Job): boolean {
  if (!sim.features.thinking) return false
  const able = model.capabilities.includes('thinking')
  const asked = job.think !== undefined && job.think !== false
  if (asked && !able && !job.thinkRelaxed) {
    throw new SimError(400, `"${job.model}" does not support thinking`)
  }
  return able && (job.think === undefined ? sim.features.thinkingByDefault : asked)
}

export function checkCapabilities(model: SimModel, job: Job): void {
  const can = (capability: string): boolean => model.capabilities.includes(capability)
  if (!can('completion')) throw new SimError(400, `"${job.model}" does not support ${job.kind}`)
  const missing: string[] = []
  if (job.tools.length > 0 && !can('tools')) missing.push('tools')
  if (job.suffix !== '' && !can('insert')) missing.push('insert')
  if (missing.length > 0) {
    throw new SimError(400, `${model.full} does not support ${missing.join('\n')}`)
  }
}
