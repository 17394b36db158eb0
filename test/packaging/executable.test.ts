// The single-file executable, in a folder that is the whole world to it: no Node, no packages, no
// sources, only the libraries that every Linux has.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { needsTool } from '../support/needs.ts'
import { serveOnce } from '../support/packaged.ts'
import { ROOT } from '../support/write-docs.ts'

const NEWEST_MAJOR = 26
const canBuild = Number(process.versions.node.split('.')[0]) >= NEWEST_MAJOR
const built = mkdtempSync(path.join(tmpdir(), 'ogw-sea-'))
const world = mkdtempSync(path.join(tmpdir(), 'ogw-world-'))

before(() => {
  if (!canBuild) return
  execFileSync(process.execPath, [path.join(ROOT, 'bin/build-sea.js'), built], { stdio: 'pipe' })
  copyFileSync(path.join(built, 'ogw'), path.join(world, 'ogw'))
  mkdirSync(path.join(world, 'tmp'))
  for (const library of librariesOf(path.join(world, 'ogw'))) {
    const target = path.join(world, library)
    mkdirSync(path.dirname(target), { recursive: true })
    copyFileSync(library, target)
  }
})
after(() => {
  for (const folder of [built, world]) rmSync(folder, { recursive: true, force: true })
})

function librariesOf(program: string): string[] {
  const listing = execFileSync('ldd', [program], { encoding: 'utf8' })
  return [...listing.matchAll(/(\/\S+) \(0x/g)].map(([, file = '']) => file)
}

/** Makes the folder the root of everything for one command. */
const INSIDE = ['--map-root-user', 'chroot', world, '/ogw']

test('helps and serves where there is nothing else', { skip: !canBuild }, async (t) => {
  if (!needsTool(t, 'unshare', ['--map-root-user', 'true'])) return
  const env = { HOME: '/tmp', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  const help = execFileSync('unshare', [...INSIDE, '--help'], { env, encoding: 'utf8' })
  assert.match(help, /^Usage: ogw /)
  await serveOnce({ folder: world, seenAs: '/', command: 'unshare', args: INSIDE, env })
})
