// The guard's rules out of the config and of this machine's own names.

import { hostname, networkInterfaces } from 'node:os'
import type { Config } from '../config/schema.ts'
import { compileOrigins } from './http-guard.ts'
import type { GuardRules } from './http-guard.ts'

/** Made at start and at each reload, not per request. `loopback`: the listener is on such an address. */
export function guardRulesOf(
  { auth, cors }: Pick<Config, 'auth' | 'cors'>,
  loopback: boolean,
): GuardRules {
  return {
    checkHost: auth.mode !== 'keys' && loopback,
    allowedHosts: new Set(auth.allowed_hosts.map((name) => name.toLowerCase())),
    hostname: hostname().toLowerCase(),
    isOwnAddress,
    origins: compileOrigins(cors.origins),
  }
}

/** Read at each question: addresses come and go, and the question is rare. */
function isOwnAddress(ip: string): boolean {
  return Object.values(networkInterfaces()).some((list) => {
    return list?.some(({ address }) => address.toLowerCase() === ip) === true
  })
}
