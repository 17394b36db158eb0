// Whether a listener serves those who have no key. Pure.

import { isLoopback, readListenAddress } from './address.ts'
import type { Config } from './schema.ts'

/** Every request to this listener needs a key. */
export function needsKeys({ auth, listen }: Pick<Config, 'auth' | 'listen'>): boolean {
  if (auth.mode !== 'auto') return auth.mode === 'keys'
  const address = readListenAddress(listen)
  return address === undefined || !isLoopback(address.host)
}
