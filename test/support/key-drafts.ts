// Keys of clients, for tests that need to be let in.

import type { KeyDraft } from '../../src/gateway/state/keys-state.ts'
import type { Rig } from './rig.ts'

/** May use all models, for ever, and change nothing. */
export const KEY_DRAFT: KeyDraft = {
  tenant: 'default',
  scope: 'infer',
  expires_ms: null,
  allowed_models: ['*'],
  denied_models: [],
  trust_identity_headers: false,
  actor: 'test',
}

/** The header that lets in with a new key. */
export async function keyFor(rig: Rig, draft: Partial<KeyDraft> = {}) {
  const { key } = await rig.gateway.access.keys.create({ ...KEY_DRAFT, ...draft })
  return { authorization: `Bearer ${key}` }
}
