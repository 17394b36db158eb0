// The house stays as docs/architecture.md draws it: who imports whom, what is pure, what is small,
// and that the docs name what exists.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { PACKAGE_OWNERS, ROOMS, roomOf } from './support/house-map.ts'
import {
  type Import,
  importsOf,
  packageOf,
  readSource,
  sourceFiles,
  withoutComments,
} from './support/imports.ts'

const FILES = sourceFiles()
const IMPORTS = FILES.flatMap((file) => importsOf(file, readSource(file)))

suite('imports', () => {
  test('every form of import is read', () => {
    const text = [
      "import './a.ts'",
      "import b, { type B } from 'b/sub'",
      "import type { C } from '../c.ts'",
      "import {\n  d,\n} from './d.ts'",
      "export * from './e.ts'",
      "export type { F } from './f.ts'",
      "const g = await import('./g.ts')",
      "// import 'commented'",
      "const text = 'import h from h'",
      "import * as i from 'node:i'",
    ].join('\n')
    assert.deepEqual(
      importsOf('room/x.ts', text).map(({ to, kind }) => `${kind} ${to}`),
      [
        'value room/a.ts',
        'value b/sub',
        'type c.ts',
        'value room/d.ts',
        'value room/e.ts',
        'type room/f.ts',
        'value node:i',
        'dynamic room/g.ts',
      ],
    )
  })

  test('the source is there and its imports are found', () => {
    assert.ok(FILES.length > 100 && IMPORTS.length > FILES.length)
    const missing = IMPORTS.filter(({ to }) => isFile(to) && !FILES.includes(to))
    assert.deepEqual(missing.map(said), [], 'imports of files that do not exist')
  })

  test('every file stands in a room', () => {
    assert.deepEqual(
      FILES.filter((file) => roomOf(file) === undefined),
      [],
    )
  })

  test('rooms are entered as the map says', () => {
    assert.deepEqual(
      IMPORTS.filter(({ to }) => isFile(to))
        .filter((one) => !mayEnter(one))
        .map((one) => `${said(one)}: ${ROOMS[roomOf(one.from)!]!.rule}`),
      [],
    )
  })

  test('packages are known where the map says', () => {
    assert.deepEqual(
      IMPORTS.filter(({ to }) => !isFile(to) && !to.startsWith('node:'))
        .filter((one) => !mayKnow(one))
        .map((one) => `${said(one)}: ${ROOMS[roomOf(one.from)!]!.rule}`),
      [],
    )
  })

  test("Node's HTTP and undici are loaded without what nobody uses", () => {
    const heavy: Readonly<Record<string, string>> = {
      'node:http': 'gateway/node-http.ts',
      undici: 'gateway/fleet/undici.ts',
    }
    assert.deepEqual(
      IMPORTS.filter(({ to, kind }) => to in heavy && kind !== 'type')
        .filter(({ from }) => from.startsWith('gateway/'))
        .map((one) => `${said(one)}: take it from ${heavy[one.to]}`),
      [],
    )
  })

  test('no file imports itself over others', () => {
    assert.deepEqual(cycles(IMPORTS.filter(({ to, kind }) => isFile(to) && kind === 'value')), [])
  })

  test('no room needs itself over others', () => {
    const between = IMPORTS.filter(({ to, kind }) => isFile(to) && kind === 'value')
      .map(({ from, to, kind }) => ({ from: roomOf(from)!, to: roomOf(to)!, kind }))
      .filter(({ from, to }) => from !== to)
      // The schema stands in the folder of the config that builds and reads it.
      .filter(({ from, to }) => !(from === 'config-schema' && to === 'config'))
    assert.deepEqual(cycles(between), [])
  })

  test('a cycle is found', () => {
    const edge = (from: string, to: string): Import => ({ from, to, kind: 'value' })
    assert.deepEqual(cycles([edge('a', 'b'), edge('b', 'c'), edge('c', 'b')]), ['b → c → b'])
  })
})

suite('budgets', () => {
  // A decision that reads the time or the machine cannot be asked again and give the same answer.
  const IMPURE = /\b(?:Date|performance|process|console|Math\.random|set(?:Timeout|Interval))\b/
  for (const file of FILES.filter((one) => roomOf(one) === 'policy')) {
    test(`${file} is pure`, () => {
      assert.doesNotMatch(withoutComments(readSource(file), { strings: false }), IMPURE)
      const node = importsOf(file, readSource(file)).filter(({ to }) => to.startsWith('node:'))
      assert.deepEqual(node.map(said), [])
    })
  }

  test('no source file has more than 300 lines of code', () => {
    const long = FILES.map((file) => ({ file, lines: codeLines(readSource(file)) }))
    assert.deepEqual(
      long.filter(({ lines }) => lines > 300),
      [],
    )
  })
})

function said({ from, to, kind }: Import): string {
  return `${from} imports ${kind === 'value' ? '' : `(${kind}) `}${to}`
}

/** A file of the source, not a package; package.json is read by no import. */
function isFile(to: string): boolean {
  return /\.tsx?$/.test(to)
}

function mayEnter({ from, to, kind }: Import): boolean {
  const room = ROOMS[roomOf(from)!]!
  const other = roomOf(to)
  if (room.loads?.includes(to)) return kind !== 'value'
  if (other === roomOf(from) || (other !== undefined && room.enters.includes(other))) return true
  return kind === 'type' && (room.types ?? []).some((open) => to.startsWith(open))
}

function mayKnow({ from, to, kind }: Import): boolean {
  const room = ROOMS[roomOf(from)!]!
  const name = packageOf(to)
  if (kind === 'type' && room.packageTypes?.includes(name)) return true
  const owners = PACKAGE_OWNERS[name]
  return room.packages.includes(name) && (owners === undefined || owners.includes(from))
}

/** Each cycle once, as `a → b → a`, from where it was first entered. */
function cycles(edges: readonly Import[]): string[] {
  const next = Map.groupBy(edges, ({ from }) => from)
  const found: string[] = []
  const done = new Set<string>()
  const walk = (node: string, trail: readonly string[]): void => {
    const seen = trail.indexOf(node)
    if (seen >= 0) found.push([...trail.slice(seen), node].join(' → '))
    if (seen >= 0 || done.has(node)) return
    for (const { to } of next.get(node) ?? []) walk(to, [...trail, node])
    done.add(node)
  }
  for (const node of next.keys()) walk(node, [])
  return found
}

function codeLines(text: string): number {
  return withoutComments(text)
    .split('\n')
    .filter((line) => line.trim() !== '').length
}
