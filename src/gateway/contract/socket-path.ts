// Where the admin socket is. Pure: environment, user and platform are arguments, so that the
// Windows and macOS answers are tested on Linux too.

import path from 'node:path'

export interface SocketPlace {
  platform: NodeJS.Platform
  env: Readonly<Record<string, string | undefined>>
  /** Numeric user, undefined on Windows. */
  uid: number | undefined
  /** `--socket`; wins over everything. */
  flag?: string | undefined
  /** `admin.socket` of the config for `serve`, the socket of the context for CLI and TUI. */
  configured?: string | null | undefined
}

/** One place to look, and what named it. */
export interface SocketCandidate {
  path: string
  from: string
}

/**
 * Where a client looks, in order. A place that was named is the only one: to fall back to another
 * gateway than the one the operator named would change the wrong fleet.
 */
export function socketCandidates(place: SocketPlace): SocketCandidate[] {
  const named = namedSocket(place)
  if (named !== undefined) return [named]
  if (place.platform === 'win32') {
    return [{ path: windowsPipe(place.env), from: 'the default pipe of this user' }]
  }
  return [...environmentSockets(place.env), RUN, temporary(place.uid)]
}

/** Where `serve` listens: the first candidate that this user can make. */
export function socketToServe(place: SocketPlace): SocketCandidate {
  const isRoot = place.uid === 0
  const candidates = socketCandidates(place)
  const usable = candidates.find((candidate) => candidate !== RUN || isRoot)
  return usable ?? temporary(place.uid)
}

const RUN: SocketCandidate = { path: '/run/ogw/admin.sock', from: 'the system folder' }

function namedSocket({ env, flag, configured }: SocketPlace): SocketCandidate | undefined {
  if (flag !== undefined && flag !== '') return { path: flag, from: '--socket' }
  const fromEnv = env['OGW_SOCKET']
  if (fromEnv !== undefined && fromEnv !== '') return { path: fromEnv, from: 'OGW_SOCKET' }
  if (configured !== undefined && configured !== null && configured !== '') {
    return { path: configured, from: 'the configuration' }
  }
  return undefined
}

function environmentSockets(env: SocketPlace['env']): SocketCandidate[] {
  // systemd lists several folders with colons; the first is the service's own.
  const runtime = env['RUNTIME_DIRECTORY']?.split(':')[0]
  const session = env['XDG_RUNTIME_DIR']
  const found: SocketCandidate[] = []
  if (runtime !== undefined && runtime !== '') {
    found.push({ path: path.posix.join(runtime, 'admin.sock'), from: 'RUNTIME_DIRECTORY' })
  }
  if (session !== undefined && session !== '') {
    found.push({ path: path.posix.join(session, 'ogw', 'admin.sock'), from: 'XDG_RUNTIME_DIR' })
  }
  return found
}

function temporary(uid: number | undefined): SocketCandidate {
  return { path: `/tmp/ogw-${uid ?? 0}/admin.sock`, from: 'the temporary folder' }
}

/** A pipe has no folder: the user's name keeps the gateways of two users apart. */
function windowsPipe(env: SocketPlace['env']): string {
  const user = (env['USERNAME'] ?? 'user').replaceAll(/[^\w.-]/g, '_')
  return `\\\\.\\pipe\\ogw-${user}`
}

/** Bytes that `sun_path` holds before its closing zero. macOS has the smaller one. */
const SUN_PATH_BYTES: Readonly<Partial<Record<NodeJS.Platform, number>>> = { darwin: 103 }
const SUN_PATH_BYTES_LINUX = 107

/**
 * Why no socket can be at that path, undefined when one can. Node cuts a path that is too long
 * without a word, and then listens somewhere else.
 */
export function socketPathProblem(file: string, platform: NodeJS.Platform): string | undefined {
  if (platform === 'win32') {
    return file.startsWith('\\\\.\\pipe\\')
      ? undefined
      : `on Windows the admin socket is a named pipe: "${file}" must begin with \\\\.\\pipe\\`
  }
  if (!path.posix.isAbsolute(file)) return `the admin socket needs an absolute path, not "${file}"`
  const bytes = Buffer.byteLength(file)
  const limit = SUN_PATH_BYTES[platform] ?? SUN_PATH_BYTES_LINUX
  if (bytes <= limit) return undefined
  return `the path of the admin socket is ${bytes} bytes long, the system allows ${limit}: name a shorter one with --socket, OGW_SOCKET or admin.socket ("${file}")`
}
