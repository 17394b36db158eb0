// The map of docs/architecture.md as data: which room may enter which, and which packages it may
// know. The architecture test and the lint rules both come from it.

export interface Room {
  /** Where it is, from `src/`: a folder with its slash, or a file. The longest match owns a file. */
  at: string
  /** Rooms whose values and types it may import. Its own is always open. */
  enters: readonly string[]
  /** Files of which it may import the types, and nothing that runs. */
  types?: readonly string[]
  /** Entry points that it may load when a command asks, by a dynamic import; else types alone. */
  loads?: readonly string[]
  /** Packages that it may import. */
  packages: readonly string[]
  /** Packages of which it may import the types, and nothing that runs. */
  packageTypes?: readonly string[]
  /** Said by the linter to whoever breaks the rule. */
  rule: string
}

const EVERYONE = [
  'policy',
  'config-schema',
  'errors',
  'clock',
  'start-error',
  'listen',
  'node-http',
  'append-lines',
]

/** From the bottom of the house to its roof. A gateway room enters rooms below it only. */
export const ROOMS: Readonly<Record<string, Room>> = {
  errors: { at: 'gateway/errors.ts', enters: [], packages: [], rule: 'errors imports nobody' },
  clock: { at: 'gateway/clock.ts', enters: [], packages: [], rule: 'clock imports nobody' },
  'start-error': {
    at: 'gateway/start-error.ts',
    enters: [],
    packages: [],
    rule: 'start-error imports nobody',
  },
  listen: { at: 'gateway/listen.ts', enters: [], packages: [], rule: 'listen imports nobody' },
  'node-http': {
    at: 'gateway/node-http.ts',
    enters: [],
    packages: [],
    rule: 'node-http imports nobody',
  },
  'append-lines': {
    at: 'gateway/append-lines.ts',
    enters: [],
    packages: [],
    rule: 'append-lines imports nobody',
  },
  'config-schema': {
    at: 'gateway/config/schema.ts',
    enters: ['config'],
    packages: ['zod'],
    rule: 'the config schema is built from files of its own folder and zod',
  },
  config: {
    at: 'gateway/config/',
    enters: ['config-schema', 'policy', 'errors', 'clock', 'start-error'],
    packages: ['zod'],
    rule: 'config reads files and schemas; it knows no room that acts on them',
  },
  policy: {
    at: 'gateway/policy/',
    enters: ['errors'],
    types: ['gateway/config/schema.ts', 'gateway/dialects/dialect.ts', 'gateway/fleet/worker.ts'],
    packages: [],
    rule: 'policies are pure decisions: they import policies, errors, and types of what they judge',
  },
  dialects: {
    at: 'gateway/dialects/',
    enters: EVERYONE,
    packages: [],
    rule: 'a dialect words and reads one protocol; it knows no worker and no socket',
  },
  contract: {
    at: 'gateway/contract/',
    enters: ['node-http'],
    packages: ['zod'],
    rule: 'the contract stands alone: console and commands load it without the gateway',
  },
  fleet: {
    at: 'gateway/fleet/',
    enters: EVERYONE,
    packages: ['undici', 'zod'],
    rule: 'fleet is workers as they are; it knows neither requests nor operators',
  },
  observe: {
    at: 'gateway/observe/',
    enters: EVERYONE,
    types: ['gateway/dialects/dialect.ts', 'gateway/fleet/worker.ts'],
    packages: ['pino', 'prom-client'],
    rule: 'observe is told and read; it changes nobody, and only it knows pino and prom-client',
  },
  state: {
    at: 'gateway/state/',
    enters: [...EVERYONE, 'fleet'],
    packages: ['yauzl', 'yazl', 'zod'],
    rule: 'state keeps documents on disk; who changes them is above it',
  },
  access: {
    at: 'gateway/access/',
    enters: [...EVERYONE, 'dialects', 'state'],
    packages: ['zod'],
    rule: 'access says who asks; it sends nothing',
  },
  admission: {
    at: 'gateway/admission/',
    enters: [...EVERYONE, 'fleet'],
    types: ['gateway/dialects/dialect.ts'],
    packages: [],
    rule: 'admission says who goes and who waits; it acts only through its effects',
  },
  proxy: {
    at: 'gateway/proxy/',
    enters: [...EVERYONE, 'dialects', 'access', 'admission', 'fleet', 'observe'],
    packages: ['undici'],
    rule: 'proxy carries one request; it does not know operators or documents',
  },
  admin: {
    at: 'gateway/admin/',
    enters: [...EVERYONE, 'contract', 'state', 'access', 'admission', 'fleet', 'observe', 'config'],
    packages: ['zod'],
    rule: 'admin serves operators; it never touches a request that is being relayed',
  },
  gateway: {
    at: 'gateway/',
    enters: [
      ...EVERYONE,
      'access',
      'admin',
      'admission',
      'config',
      'contract',
      'dialects',
      'fleet',
      'observe',
      'proxy',
      'state',
    ],
    packages: [],
    rule: 'the composition root makes rooms and knows no package itself',
  },
  present: {
    at: 'tui/present/',
    enters: [],
    types: ['gateway/contract/'],
    packages: [],
    rule: 'presenters turn data into cells: no terminal, no clock, no package',
  },
  tui: {
    at: 'tui/',
    enters: ['present', 'contract'],
    packages: ['ink', 'react'],
    rule: 'the console knows the gateway through its contract alone',
  },
  simulator: {
    at: 'cli/simulator/',
    enters: [],
    packages: [],
    rule: 'the simulated worker shares nothing with the gateway, so that neither hides the other',
  },
  cli: {
    at: 'cli/',
    enters: ['contract', 'present', 'config', 'config-schema', 'state', 'start-error', 'simulator'],
    loads: ['gateway/main.ts', 'tui/main.tsx'],
    packages: ['commander', 'conf'],
    rule: 'commands know the gateway through its contract; config and backups are the exceptions',
  },
}

/** Packages that only some files of their room may know. */
export const PACKAGE_OWNERS: Readonly<Record<string, readonly string[]>> = {
  conf: ['cli/context-store.ts'],
  'prom-client': ['gateway/observe/metrics.ts'],
  pino: ['gateway/observe/log.ts'],
  yazl: ['gateway/state/backup.ts'],
  yauzl: ['gateway/state/backup-zip.ts'],
}

/** The room that owns a file, named from `src/`. */
export function roomOf(file: string): string | undefined {
  const owners = Object.entries(ROOMS).filter(([, { at }]) =>
    at.endsWith('/') ? file.startsWith(at) : file === at,
  )
  return owners.toSorted(([, a], [, b]) => b.at.length - a.at.length)[0]?.[0]
}
