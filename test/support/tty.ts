// A terminal for a console that runs in the test's own process: keys go in, a screen comes out.

import { EventEmitter } from 'node:events'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import type { CommandRunner } from '../../src/tui/console.ts'
import { type ConsoleOptions, runConsole } from '../../src/tui/main.tsx'
import { Screen } from './screen.ts'
import { until } from './until.ts'

export interface RunningConsole extends AsyncDisposable {
  screen: Screen
  /** Keys in one event, as a held key arrives over SSH. */
  send(keys: string): void
  /** Each key an event of its own, the next one when the screen has been drawn. */
  type(...keys: string[]): Promise<void>
  /** Waits for a screen that matches, and returns its lines. */
  see(what: RegExp, timeoutMs?: number): Promise<string[]>
  /** Waits for a screen that does not match. */
  miss(what: RegExp): Promise<string[]>
  resize(columns: number, rows: number): void
  /** Nothing more is drawn: what was begun is on the screen. */
  settled(): Promise<void>
  /** What was printed beside the screen. */
  words(): string
  readonly ended: Promise<void>
}

export interface ConsoleSetup extends Partial<
  Omit<ConsoleOptions, 'stdin' | 'stdout' | 'stderr' | 'admin'>
> {
  columns?: number
  rows?: number
}

export const NO_COMMANDS: CommandRunner = {
  run: async () => ({ code: 0, out: '', err: '' }),
  complete: async () => [],
}

/** Long enough for several frames on a busy machine. */
const QUIET_MS = 120

export function startConsole(socket: string, setup: ConsoleSetup = {}): RunningConsole {
  const { columns = 120, rows = 36, ...options } = setup
  const screen = new Screen(columns, rows)
  const stdout = fakeStdout(screen)
  const stdin = fakeStdin()
  let words = ''
  const admin = new AdminClient({ transport: socketTransport([socket]), actor: 'tester@pts/1' })
  const ended = runConsole({
    stdin: stdin.stream,
    stdout,
    stderr: { write: (text: string) => Boolean((words += text)) } as NodeJS.WritableStream,
    env: { LANG: 'C.UTF-8', TERM: 'xterm-256color' },
    admin,
    commands: NO_COMMANDS,
    readOnly: false,
    ascii: false,
    color: true,
    screenReader: false,
    ...options,
  })
  const settled = async (): Promise<void> => {
    let bytes = -1
    while (bytes !== screen.bytes) {
      bytes = screen.bytes
      // oxlint-disable-next-line no-await-in-loop -- polls until nothing is drawn any more
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    }
  }
  const console: RunningConsole = {
    screen,
    ended,
    send: stdin.send,
    async type(...keys) {
      for (const key of keys) {
        stdin.send(key)
        // oxlint-disable-next-line no-await-in-loop -- one key after the other
        await new Promise((resolve) => setTimeout(resolve, key === '\u001b' ? 60 : 15))
      }
      await settled()
    },
    async see(what, timeoutMs = 15_000) {
      await until(() => what.test(screen.text()), {
        timeoutMs,
        what: `${what} on\n${screen.text()}`,
      }).catch(() => {
        throw new Error(`waited in vain for ${what} on\n${screen.text()}`)
      })
      return screen.lines()
    },
    async miss(what) {
      await until(() => !what.test(screen.text()), { what: `a screen without ${what}` })
      return screen.lines()
    },
    resize(wide, high) {
      screen.resize(wide, high)
      stdout.emit('resize')
    },
    settled,
    words: () => words,
    async [Symbol.asyncDispose]() {
      stdin.send('\u001b')
      await new Promise((resolve) => setTimeout(resolve, 60))
      for (const key of ['\u001b', '\u001b', 'q', 'y']) {
        stdin.send(key)
        // oxlint-disable-next-line no-await-in-loop -- each closes one thing
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      await ended.catch(() => {})
    },
  }
  return console
}

function fakeStdout(screen: Screen): NodeJS.WriteStream {
  const stream = Object.assign(new EventEmitter(), {
    isTTY: true,
    writable: true,
    writableLength: 0,
    write(data: string | Uint8Array, ...rest: unknown[]): boolean {
      screen.write(String(data))
      const done = rest.find((one) => typeof one === 'function') as (() => void) | undefined
      if (done !== undefined) queueMicrotask(done)
      return true
    },
  })
  Object.defineProperties(stream, {
    columns: { get: () => screen.columns },
    rows: { get: () => screen.rows },
  })
  return stream as unknown as NodeJS.WriteStream
}

function fakeStdin(): { stream: NodeJS.ReadStream; send(keys: string): void } {
  const queue: string[] = []
  const stream = Object.assign(new EventEmitter(), {
    isTTY: true,
    isRaw: false,
    setEncoding() {},
    ref() {},
    unref() {},
    resume() {},
    pause() {},
    setRawMode(raw: boolean) {
      this.isRaw = raw
      return this
    },
    read: () => queue.shift() ?? null,
  })
  return {
    stream: stream as unknown as NodeJS.ReadStream,
    send(keys) {
      queue.push(keys)
      stream.emit('readable')
    },
  }
}
