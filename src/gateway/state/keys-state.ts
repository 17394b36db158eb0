// The keys of clients, as hashes: whoever reads the file can let nobody in. Found by hash in one
// step, however many there are.

import { hash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { Document } from './document.ts'
import type { DocumentOptions } from './document.ts'
import type { DocumentForm } from './document-form.ts'
import { Turns } from './turns.ts'

const SCOPES = ['read', 'infer', 'manage'] as const
/** Each scope holds those before it. */
export type Scope = (typeof SCOPES)[number]

const StoredKey = z.strictObject({
  id: z.string().min(1),
  /** `secret`: SHA-256 in hex of a key that was shown once. `ed25519`: the public key in base64. */
  kind: z.enum(['secret', 'ed25519']),
  verifier: z.string().min(1),
  tenant: z.string().min(1),
  scope: z.enum(SCOPES),
  created_at: z.string(),
  created_by: z.string(),
  /** Wall clock in milliseconds; null = it does not expire. */
  expires_ms: z.number().nullable(),
  allowed_models: z.array(z.string()),
  denied_models: z.array(z.string()),
  /** Believes the user headers of Open WebUI on requests with this key. */
  trust_identity_headers: z.boolean(),
  revoked_at: z.string().nullable(),
})
export type StoredKey = z.infer<typeof StoredKey>

const KeysDocument = z.strictObject({
  version: z.literal(1),
  revision: z.int().min(0),
  keys: z.array(StoredKey),
})
type KeysDocument = z.infer<typeof KeysDocument>

export const keysForm: DocumentForm<KeysDocument> = {
  schema: KeysDocument,
  empty: { version: 1, revision: 0, keys: [] },
  remedy: 'move it away to start with no keys',
}

/** What whoever makes a key decides about it. */
export type KeyDraft = Pick<
  StoredKey,
  'tenant' | 'scope' | 'expires_ms' | 'allowed_models' | 'denied_models' | 'trust_identity_headers'
> & { actor: string }

const KEY_PREFIX = 'ogw_'
const KEY_BYTES = 32
const ID_BYTES = 5
/** Above it something makes keys that should not. */
const MAX_KEYS = 100_000

export class TooManyKeys extends Error {
  override readonly name = 'TooManyKeys'
}

export class KeysState {
  readonly #clock: Clock
  readonly #document: Document<KeysDocument>
  #byVerifier = new Map<string, StoredKey>()
  #indexed: KeysDocument | undefined
  readonly #changes = new Turns()

  /** Throws StartError where the file is broken. */
  constructor(
    file: string,
    { clock, ...options }: { clock: Clock } & Pick<DocumentOptions<KeysDocument>, 'disk'>,
  ) {
    this.#clock = clock
    this.#document = new Document({
      file,
      ...keysForm,
      ...options,
    })
  }

  get revision(): number {
    return this.#document.value.revision
  }

  get error(): string | undefined {
    return this.#document.error
  }

  /** Revoked and expired ones too, oldest first. */
  list(): readonly StoredKey[] {
    return this.#document.value.keys
  }

  /** At least one key could let somebody in now. */
  get anyUsable(): boolean {
    return this.list().some((key) => isUsable(key, this.#clock.now()))
  }

  /** Also one that is revoked or expired: whoever asks judges. */
  find(kind: StoredKey['kind'], verifier: string): StoredKey | undefined {
    if (this.#indexed !== this.#document.value) this.#index()
    const key = this.#byVerifier.get(verifier)
    return key?.kind === kind ? key : undefined
  }

  /** The key itself is in the answer and nowhere else. Rejects with NotSaved. */
  create(draft: KeyDraft): Promise<{ key: string; stored: StoredKey }> {
    const key = KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url')
    return this.#add('secret', hashOfKey(key), draft).then((stored) => ({ key, stored }))
  }

  /** `publicKey`: the 32 bytes in base64. A usable one of the same verifier is replaced. */
  addEd25519(publicKey: string, draft: KeyDraft): Promise<StoredKey> {
    return this.#add('ed25519', publicKey, draft)
  }

  /** Undefined where there is none of that id; the same key where it is revoked already. */
  revoke(id: string): Promise<{ key: StoredKey; changed: boolean } | undefined> {
    return this.#changes.take(async () => {
      const known = this.list().find((key) => key.id === id)
      if (known === undefined) return undefined
      if (known.revoked_at !== null) return { key: known, changed: false }
      const key = { ...known, revoked_at: this.#isoNow() }
      await this.#save(this.list().map((other) => (other.id === id ? key : other)))
      return { key, changed: true }
    })
  }

  #add(kind: StoredKey['kind'], verifier: string, draft: KeyDraft): Promise<StoredKey> {
    const { actor, ...given } = draft
    return this.#changes.take(async () => {
      const kept = this.list().filter((key) => key.kind !== kind || key.verifier !== verifier)
      if (kept.length >= MAX_KEYS) throw new TooManyKeys(`there are ${MAX_KEYS} keys already`)
      const stored: StoredKey = {
        id: this.#freshId(),
        kind,
        verifier,
        ...given,
        created_at: this.#isoNow(),
        created_by: actor,
        revoked_at: null,
      }
      await this.#save([...kept, stored])
      return stored
    })
  }

  #freshId(): string {
    for (;;) {
      const id = `k${randomBytes(ID_BYTES).toString('hex')}`
      if (!this.list().some((key) => key.id === id)) return id
    }
  }

  async #save(keys: StoredKey[]): Promise<void> {
    await this.#document.save({ version: 1, revision: this.revision + 1, keys })
  }

  #index(): void {
    this.#indexed = this.#document.value
    this.#byVerifier = new Map(this.list().map((key) => [key.verifier, key]))
  }

  #isoNow(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

/** Keys are 32 random bytes: a plain hash of one cannot be guessed back, and costs a microsecond. */
export function hashOfKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/** `now`: wall clock in milliseconds. */
export function isUsable(key: StoredKey, now: number): boolean {
  return key.revoked_at === null && (key.expires_ms === null || now < key.expires_ms)
}
