// `ogw tui`: looks whether there can be a console here, draws it, and gives the terminal back as it
// was, however it ends. The terminal library is loaded only when all is well.

import { writeSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { format } from 'node:util'
import type { AdminClient } from '../gateway/contract/client.ts'
import { systemClock } from './clock.ts'
import { type CommandRunner, Console } from './console.ts'
import { startFeed } from './feed.ts'
import { asciiReason, type Env, refusal, wantsColor, wantsScreenReader } from './guards.ts'
import { plural } from './present/units.ts'
import { startPulse } from './pulse.ts'
import { ConsoleStore } from './store.ts'
import { followTenant } from './tenant-follow.ts'
import { RESTORE, Terminal } from './terminal.ts'

export interface ConsoleOptions {
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WritableStream
  env: Env
  admin: AdminClient
  commands: CommandRunner
  readOnly: boolean
  ascii: boolean
  color: boolean
  screenReader: boolean
}

/** Why there can be no console here, in one line; undefined where there can. */
export function consoleRefusal({
  env,
  stdin,
  stdout,
}: Pick<ConsoleOptions, 'env' | 'stdin' | 'stdout'>) {
  return refusal(env, { stdin: stdin.isTTY, stdout: stdout.isTTY })
}

/** Runs until it is quit. Rejects with what broke it, after the terminal was given back. */
export async function runConsole(options: ConsoleOptions): Promise<void> {
  const { stdout, stderr } = options
  // The development build of the renderer is half as fast; it is chosen when it is loaded.
  process.env['NODE_ENV'] ??= 'production'
  const { mount } = await import('./mount.tsx')
  const stray = collectStrayLines(stdout)
  const restore = (): void => restoreTerminal(stdout)
  process.once('exit', restore)
  const { console, parts } = makeConsole(options)
  const feed = parts.feed
  const endPulse = startPulse(console, { tellLink: parts.reader })
  const unfollow = followTenant(console)
  try {
    sayHow(console, options)
    await mount({
      console,
      terminal: parts.terminal,
      reader: parts.reader,
      ...parts.mount,
      options,
    })
  } finally {
    console.closing.abort()
    endPulse()
    unfollow()
    feed.stop()
    console.store.close()
    options.admin.close()
    restore()
    process.off('exit', restore)
    for (const line of stray.end()) stderr.write(`${line}\n`)
  }
  stderr.write(`${farewell(console)}\n`)
}

function makeConsole(options: ConsoleOptions) {
  const { env, stdout, admin } = options
  const store = new ConsoleStore(systemClock)
  const reader = wantsScreenReader(env, options.screenReader)
  let deafUntil = 0
  const terminal = new Terminal({
    stdout,
    tick: () => store.tick(),
    ignoreKeys: (ms) => {
      deafUntil = systemClock.mono() + ms
    },
  })
  const feed = startFeed(admin, store)
  const ascii = options.ascii || asciiReason(env, process.platform) !== undefined
  const console = new Console({
    store,
    admin,
    feed,
    terminal,
    commands: options.commands,
    theme: { ascii, color: wantsColor(env, options.color) },
    readOnly: options.readOnly,
    zone: new Date().getTimezoneOffset(),
    env,
  })
  const ignoresKeys = (): boolean => systemClock.mono() < deafUntil
  return { console, parts: { terminal, feed, reader, mount: { ignoresKeys } } }
}

function sayHow(console: Console, { env, ascii }: ConsoleOptions): void {
  const reason = ascii ? undefined : asciiReason(env, process.platform)
  if (reason !== undefined) console.say('note', `letters in place of signs: ${reason}`)
}

function farewell({ store, edits }: Console): string {
  const { snapshot } = store
  if (snapshot === undefined) return 'ogw tui: closed.'
  const mine = edits === 0 ? '' : `, ${plural(edits, 'change')} by you: ogw placement history`
  const { listen } = snapshot.gateway
  return `ogw tui: closed. The gateway keeps serving on ${listen} (rev ${snapshot.placement.revision}${mine}).`
}

function restoreTerminal(stdout: NodeJS.WriteStream): void {
  if (!stdout.isTTY) return
  if (stdout === process.stdout) writeSync(1, RESTORE)
  else stdout.write(RESTORE)
}

const MAX_STRAY_LINES = 20
const METHODS = ['debug', 'error', 'info', 'log', 'warn'] as const

/**
 * Warnings of the runtime and what libraries print would be drawn into the picture, and stay there:
 * only what changes is drawn again. They are printed at the end.
 */
function collectStrayLines(stdout: NodeJS.WriteStream): { end(): string[] } {
  const kept: string[] = []
  const keep = (line: string): void => void (kept.length < MAX_STRAY_LINES && kept.push(line))
  const listeners = process.listeners('warning')
  process.removeAllListeners('warning')
  const keepWarning = (warning: Error): void => keep(`${warning.name}: ${warning.message}`)
  process.on('warning', keepWarning)
  const printing = globalThis.console
  // In another terminal than the process's own they are not in the way.
  if (stdout === process.stdout) {
    const quiet = METHODS.map((name) => [name, (...words: unknown[]) => keep(format(...words))])
    globalThis.console = { ...printing, ...Object.fromEntries(quiet) }
  }
  return {
    end() {
      process.off('warning', keepWarning)
      for (const listener of listeners) process.on('warning', listener)
      globalThis.console = printing
      return kept
    },
  }
}

/** For a terminal that a console left behind when it was killed. */
export function resetTerminal(stdout: NodeJS.WriteStream): void {
  stdout.write(`${RESTORE}\u001b[?1049l\u001b[0m\r\n`)
  spawnSync('stty', ['sane'], { stdio: 'inherit' })
}
