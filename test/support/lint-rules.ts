// The map of the house as lint rules, so that an editor says at once what the architecture test
// says later. The linter sees the text of an import and cannot hold a place open for types
// or for dynamic imports alone, which is why the test stands behind it.

import { PACKAGE_OWNERS, type Room, ROOMS } from './house-map.ts'

interface Pattern {
  group: string[]
  message: string
}

interface LintOverride {
  files: string[]
  rules: { 'no-restricted-imports': ['error', { patterns: Pattern[] }] }
}

const PACKAGES = ['commander', 'conf', 'ink', 'pino', 'prom-client', 'react', 'undici', 'zod']

/** The file that .oxlintrc.json extends. */
export function lintRulesPage(): string {
  const overrides = lintOverrides().map((one) => `    ${JSON.stringify(one)}`)
  return `{\n  "overrides": [\n${overrides.join(',\n')}\n  ]\n}\n`
}

/** From the widest room to the narrowest, as the last override that matches a file holds. */
function lintOverrides(): LintOverride[] {
  const rooms = Object.values(ROOMS).toSorted((a, b) => a.at.length - b.at.length)
  const owners = Object.entries(PACKAGE_OWNERS).flatMap(([owned, files]) =>
    files.map((file) => override(file, patterns(roomAround(file), [owned]))),
  )
  return [...rooms.map((room) => override(room.at, patterns(room, []))), ...owners]
}

function override(at: string, list: Pattern[]): LintOverride {
  return {
    files: [`src/${at}${at.endsWith('/') ? '**' : ''}`],
    rules: { 'no-restricted-imports': ['error', { patterns: list }] },
  }
}

function roomAround(file: string): Room {
  const rooms = Object.values(ROOMS).filter(({ at }) => file.startsWith(at))
  return rooms.toSorted((a, b) => b.at.length - a.at.length)[0]!
}

function patterns(room: Room, owned: readonly string[]): Pattern[] {
  const message = `${room.rule} (docs/architecture.md)`
  const closed = closedTo(room)
  const rooms = room.enters.map((name) => ROOMS[name]!.at)
  const open = [...rooms, ...(room.types ?? []), ...(room.loads ?? [])].filter((at) =>
    closed.some((one) => at.startsWith(one)),
  )
  const packages = PACKAGES.filter(
    (name) => !room.packages.includes(name) || (name in PACKAGE_OWNERS && !owned.includes(name)),
  )
  return [
    { group: packages.flatMap((name) => [name, `${name}/**`]), message },
    {
      group: [...closed.map((at) => reach(at, room)), ...open.map((at) => `!${reach(at, room)}`)],
      message,
    },
  ]
}

/** What a room may not enter, before the exceptions that its entry on the map makes. */
function closedTo(room: Room): string[] {
  const others = Object.values(ROOMS).filter((one) => one !== room && !room.at.startsWith(one.at))
  const far = ['gateway/', 'tui/', 'cli/'].filter((at) => !room.at.startsWith(at))
  const near = others.filter(({ at }) => !far.some((one) => at.startsWith(one)))
  const closed = near.filter((one) => !room.enters.some((name) => ROOMS[name] === one))
  return [...far, ...closed.map(({ at }) => at)]
}

/** Every relative way to a place: `../fleet/x.ts` from beside it, `../../gateway/fleet/x.ts` else. */
function reach(at: string, room: Room): string {
  const top = `${at.split('/')[0]}/`
  const inside = room.at.startsWith(top) ? at.slice(top.length) : at
  return `../**/${inside}${at.endsWith('/') ? '**' : ''}`
}
