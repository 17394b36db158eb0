// Whether a model on a worker can do what a request needs, as far as is known. What is not known
// passes: availability goes before metadata, and Ollama itself refuses what really cannot work.

import type { Need } from '../dialects/dialect.ts'
import type { InstalledModel, ModelInfo } from '../fleet/worker.ts'

/**
 * What is known of a model's capabilities: /api/show of the installed digest, else what /api/tags
 * says since Ollama 0.30. Undefined = unknown; an answer without capabilities is no empty list.
 */
export function knownCapabilities(
  model: InstalledModel | undefined,
  info: ModelInfo | undefined,
): readonly string[] | undefined {
  const shown = info !== undefined && isOfDigest(model, info) ? info.capabilities : undefined
  return shown ?? model?.capabilities
}

/** The needs that the model is known not to meet, in the order they were asked; none if unknown. */
export function missingCapabilities(
  needs: readonly Need[],
  known: readonly string[] | undefined,
): Need[] {
  if (known === undefined) return []
  return needs.filter((need) => !known.includes(need))
}

/** The same name may stand for another model after a pull; what was shown of the old one is void. */
export function isOfDigest(model: InstalledModel | undefined, info: ModelInfo): boolean {
  return model === undefined || model.digest === info.digest
}
