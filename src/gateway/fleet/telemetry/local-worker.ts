// Whether a worker is on the gateway's own machine, so that the machine's figures are its figures.

import { networkInterfaces } from 'node:os'
import { BlockList, isIP } from 'node:net'
import type { Worker } from '../worker.ts'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** One of its addresses is this machine. A name counts once a probe has told its IP. */
export function isLocal(worker: Worker, own: ReadonlySet<string> = ownAddresses()): boolean {
  return worker.addresses.some(({ url, ip }) => {
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
    return [host, ip ?? ''].some((text) => isHere(text, own))
  })
}

function isHere(text: string, own: ReadonlySet<string>): boolean {
  if (text === 'localhost' || own.has(text)) return true
  const family = isIP(text)
  return family !== 0 && LOOPBACK.check(text, family === 6 ? 'ipv6' : 'ipv4')
}

export function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return new Set(all.map(({ address }) => address))
}
