// Hosts of a test's own: network namespaces joined by a veth pair, with a firewall each. Made by
// the test and taken away by it; nothing else on the machine is touched.

import { spawnSync } from 'node:child_process'

export interface TestHost extends AsyncDisposable {
  /** What others reach it by. */
  address: string
  /** Runs a command inside, as in `[...host.within, 'node']`. */
  within: string[]
  /** Drops what arrives and matches, in nft's words; the packets just vanish. */
  drop(match: string): void
  /** Takes every firewall rule away. */
  heal(): void
  /** The cable. */
  link(state: 'up' | 'down'): void
}

export function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 20_000 })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
}

/** `index` 0 to 62: hosts of one test differ in it. */
export function makeTestHost(index: number): TestHost {
  const name = `ogw${process.pid % 100_000}n${index}`
  const outer = `${name}a`
  const inner = `${name}b`
  // A private range that only these pairs have routes for.
  const base = index * 4
  const address = `10.231.77.${base + 2}`
  run('ip', 'netns', 'add', name)
  run('ip', 'link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name)
  run('ip', 'addr', 'add', `10.231.77.${base + 1}/30`, 'dev', outer)
  run('ip', 'link', 'set', outer, 'up')
  const within = ['ip', 'netns', 'exec', name]
  const inside = (...args: string[]): void => run('ip', 'netns', 'exec', name, ...args)
  inside('ip', 'addr', 'add', `${address}/30`, 'dev', inner)
  inside('ip', 'link', 'set', inner, 'up')
  inside('ip', 'link', 'set', 'lo', 'up')
  inside('nft', 'add table inet t; add chain inet t in { type filter hook input priority 0; }')
  return {
    address,
    within,
    drop: (match) => inside('nft', `add rule inet t in ${match} drop`),
    heal: () => inside('nft', 'flush chain inet t in'),
    link: (state) => run('ip', 'link', 'set', outer, state),
    async [Symbol.asyncDispose]() {
      spawnSync('ip', ['link', 'del', outer])
      spawnSync('ip', ['netns', 'del', name])
      await Promise.resolve()
    },
  }
}
