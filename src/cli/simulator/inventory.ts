// The installed models of one worker and how names find them.

import { makeModel, type ModelSpec, type SimModel } from './models.ts'
import { displayName, fullName, keyOf, parseName, type ModelName } from './names.ts'

export interface Inventory {
  /** In the order tags prints them: newest first. */
  list(): readonly SimModel[]
  /** `exact` skips the case folding, as `/api/embeddings` does. */
  find(name: ModelName, exact?: boolean): SimModel | undefined
  add(spec: ModelSpec | string): SimModel
  copy(model: SimModel, to: ModelName, now: number): void
  remove(name: string): boolean
  replace(specs: readonly (ModelSpec | string)[]): void
  /** Changes a digest behind the gateway's back, as a re-pull does. */
  setDigest(name: string, digest: string): boolean
}

/** Ollama sorts by whole seconds; within one the order is nobody's. */
const secondsOf = ({ modifiedAt }: SimModel): number => Math.floor(modifiedAt / 1000)

export function createInventory(specs: readonly (ModelSpec | string)[]): Inventory {
  const models = new Map<string, SimModel>()
  const add = (spec: ModelSpec | string): SimModel => {
    const model = makeModel(spec)
    models.set(model.key, model)
    return model
  }
  const byName = (name: string): SimModel | undefined => {
    const parsed = parseName(name)
    return parsed === undefined ? undefined : models.get(keyOf(parsed))
  }
  for (const spec of specs) add(spec)

  return {
    list: () => [...models.values()].toSorted((a, b) => secondsOf(b) - secondsOf(a)),
    find(name, exact = false) {
      const model = models.get(keyOf(name))
      return exact && model !== undefined && model.full !== fullName(name) ? undefined : model
    },
    add,
    copy(model, to, now) {
      const name = displayName(to)
      models.set(keyOf(to), {
        ...model,
        name,
        key: keyOf(to),
        parsed: to,
        full: fullName(to),
        modifiedAt: now,
      })
    },
    remove(name) {
      const model = byName(name)
      return model !== undefined && models.delete(model.key)
    },
    replace(next) {
      models.clear()
      for (const spec of next) add(spec)
    },
    setDigest(name, digest) {
      const model = byName(name)
      if (model === undefined) return false
      models.set(model.key, { ...model, digest })
      return true
    },
  }
}
