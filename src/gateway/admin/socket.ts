// Takes the admin socket without ever taking it from anyone: a live owner is left alone, a stale
// socket is cleared, and whatever else is at that path is refused and left as it is.
//
// The server binds a name of its own and hard-links it to the real one. A link fails where
// something exists, so of two gateways that start at once exactly one wins; and Node, which unlinks
// the name it has bound when it closes, can never remove the socket of a successor.

import { randomBytes } from 'node:crypto'
import { linkSync, lstatSync, mkdirSync, renameSync, unlinkSync } from 'node:fs'
import type { BigIntStats, Stats } from 'node:fs'
import { connect } from 'node:net'
import type { Server } from 'node:net'
import path from 'node:path'
import { socketPathProblem } from '../contract/socket-path.ts'
import { StartError } from '../start-error.ts'

export interface SocketOptions {
  path: string
  /** Rights of the socket, as in 0o660. */
  mode: number
  platform?: NodeJS.Platform
}

export interface ClaimedSocket {
  /** Removes the socket, if it is still this one. */
  release(): void
}

/** Rights of a folder that is made for the socket: the real gate, as the socket's own is a second. */
const FOLDER_MODE = 0o750
/** In the shared temporary folder nobody else needs to enter. */
const PRIVATE_FOLDER_MODE = 0o700

/** Makes the server listen there. Throws StartError where it must not. */
export async function claimSocket(server: Server, options: SocketOptions): Promise<ClaimedSocket> {
  const { path: file, platform = process.platform } = options
  const problem = socketPathProblem(file, platform)
  if (problem !== undefined) throw new StartError(problem, 1)
  if (platform === 'win32') {
    await listen(server, file, options.mode)
    return { release() {} }
  }
  makeFolder(path.dirname(file))
  await clearStale(file)

  const own = path.join(path.dirname(file), `.${randomBytes(3).toString('hex')}`)
  const tooLong = socketPathProblem(own, platform)
  if (tooLong !== undefined) throw new StartError(tooLong, 1)
  await listen(server, own, options.mode)
  return publish(server, own, file)
}

function publish(server: Server, own: string, file: string): ClaimedSocket {
  const mine = identityOf(lstatSync(own, { bigint: true }))
  try {
    linkSync(own, file)
  } catch (cause) {
    server.close()
    throw refused(file, 'another gateway took it a moment ago', cause)
  }
  unlinkSync(own)
  return {
    release() {
      if (identityAt(file) === mine) unlinkSync(file)
    },
  }
}

/** The umask makes the socket appear with its rights: a chmod afterwards would be too late. */
function listen(server: Server, file: string, mode: number): Promise<void> {
  const before = process.umask(0o777 & ~mode)
  try {
    return new Promise((resolve, reject) => {
      server.once('error', (cause) => {
        reject(new StartError(`cannot listen on ${file}: ${messageOf(cause)}`, 1, { cause }))
      })
      server.listen(file, resolve)
    })
  } finally {
    process.umask(before)
  }
}

function makeFolder(folder: string): void {
  const mode = folder === `/tmp/ogw-${process.getuid?.()}` ? PRIVATE_FOLDER_MODE : FOLDER_MODE
  try {
    mkdirSync(folder, { recursive: true, mode })
  } catch (cause) {
    const message = `cannot make the folder of the admin socket, ${folder}: ${messageOf(cause)}. Name another place with --socket, OGW_SOCKET or admin.socket`
    throw new StartError(message, 1, { cause })
  }
  const owner = statOf(folder)
  const uid = process.getuid?.()
  if (owner !== undefined && owner.uid !== uid && owner.uid !== 0) {
    throw refused(folder, `the folder belongs to another user (uid ${owner.uid})`)
  }
}

async function clearStale(file: string): Promise<void> {
  const found = statOf(file)
  if (found === undefined) return
  if (!found.isSocket()) throw refused(file, `${kindOf(found)} is there, which ogw leaves alone`)
  if (found.uid !== process.getuid?.()) {
    throw refused(file, `the socket there belongs to another user (uid ${found.uid})`)
  }
  const asked = identityAt(file)
  const state = await askOwner(file)
  if (state === 'live') throw refused(file, 'another gateway is running on it')
  if (state === 'stale') removeExactly(file, asked)
}

/**
 * The kernel answers for a listening socket, so that a gateway whose event loop is busy counts as
 * live. Only a refused connection proves that nobody listens any more.
 */
function askOwner(file: string): Promise<'live' | 'stale' | 'gone'> {
  return new Promise((resolve) => {
    const socket = connect(file)
    socket.once('connect', () => {
      socket.destroy()
      resolve('live')
    })
    socket.once('error', (error) => {
      const code = 'code' in error ? error.code : undefined
      resolve(code === 'ECONNREFUSED' ? 'stale' : code === 'ENOENT' ? 'gone' : 'live')
    })
  })
}

/** Between the look and the removal another gateway may have taken the path: then it is put back. */
function removeExactly(file: string, asked: string | undefined): void {
  const aside = `${file}.${randomBytes(3).toString('hex')}`
  try {
    renameSync(file, aside)
  } catch (cause) {
    throw refused(file, `the stale socket there cannot be removed: ${messageOf(cause)}`, cause)
  }
  if (identityAt(aside) !== asked) {
    linkSync(aside, file)
    unlinkSync(aside)
    throw refused(file, 'another gateway took it a moment ago')
  }
  unlinkSync(aside)
}

function refused(file: string, why: string, cause?: unknown): StartError {
  const message = `cannot use ${file} for the admin socket: ${why}. Stop what is there, or name another socket with --socket, OGW_SOCKET or admin.socket`
  return new StartError(message, 1, { cause })
}

/** A file system gives a freed inode to the next file at once: its number alone says nothing. */
function identityOf({ ino, mtimeNs }: BigIntStats): string {
  return `${ino} ${mtimeNs}`
}

function identityAt(file: string): string | undefined {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false })
  return found && identityOf(found)
}

function statOf(file: string): Stats | undefined {
  return lstatSync(file, { throwIfNoEntry: false })
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return 'a symbolic link'
  if (found.isDirectory()) return 'a folder'
  return found.isFile() ? 'a file' : 'something that is no socket'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
