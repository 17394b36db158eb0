// The overrides that operators set at run time, as they stand on disk.

import { z } from 'zod'
import { parsePattern } from '../policy/model-name.ts'
import { Document } from './document.ts'
import type { DocumentForm } from './document-form.ts'
import type { Disk } from './disk.ts'

/** A pattern that means nothing would silently allow or block the wrong models. */
const Pattern = z.string().superRefine((text, context) => {
  const parsed = parsePattern(text)
  if (!parsed.ok) context.addIssue(parsed.reason)
})

export const StoredRules = z.strictObject({
  mode: z.enum(['allow_all', 'whitelist']),
  allowed_models: z.array(Pattern),
  denied_models: z.array(Pattern),
})

/** A list and not a map by name: a worker may be called `__proto__`. */
const PlacementDocument = z.strictObject({
  version: z.literal(1),
  /** Grows by one with each edit; never goes back. */
  revision: z.int().min(0),
  overrides: z.array(StoredRules.extend({ worker: z.string().min(1) })),
})
export type PlacementDocument = z.infer<typeof PlacementDocument>

export const placementForm: DocumentForm<PlacementDocument> = {
  schema: PlacementDocument,
  empty: { version: 1, revision: 0, overrides: [] },
  remedy: 'move it away to start with the placement of the config alone',
}

/** Throws StartError where the file is broken: it is never read as "allow all". */
export function openPlacementDocument(file: string, calls?: Disk): Document<PlacementDocument> {
  return new Document({
    file,
    ...placementForm,
    ...(calls !== undefined && { disk: calls }),
  })
}
