// A real terminal for the real program: tmux with a server, a size and a shell of its own.

import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { until } from './until.ts'
import { ROOT } from './write-docs.ts'

export const OGW = path.join(ROOT, 'bin', 'ogw')

export interface TmuxTerminal extends AsyncDisposable {
  /** Keys as tmux names them: `C-z`, `Enter`, or text. */
  keys(...names: string[]): void
  /** Text and Enter, for the shell. */
  line(text: string): void
  screen(): string
  /** With the escape codes of colours. */
  styledScreen(): string
  see(what: RegExp, timeoutMs?: number): Promise<string>
  resize(columns: number, rows: number): void
  /** A format of tmux, as in `#{alternate_on}`. */
  ask(format: string): string
}

export function startTmux(columns: number, rows: number): TmuxTerminal {
  const server = `ogw-${process.pid}-${randomBytes(3).toString('hex')}`
  const tmux = (...words: string[]): string =>
    execFileSync('tmux', ['-L', server, ...words], { encoding: 'utf8', timeout: 20_000 })
  const shell =
    'env -u TMUX -u NO_COLOR -u CI LANG=C.UTF-8 LC_ALL=C.UTF-8 TERM=screen-256color PS1="$ " bash --norc --noprofile'
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-s',
    's',
    '-x',
    String(columns),
    '-y',
    String(rows),
    shell,
  )
  const screen = (): string => tmux('capture-pane', '-p', '-t', 's')
  return {
    keys: (...names) => void tmux('send-keys', '-t', 's', ...names),
    line: (text) => void tmux('send-keys', '-t', 's', '-l', `${text}\n`),
    screen,
    styledScreen: () => tmux('capture-pane', '-e', '-p', '-t', 's'),
    async see(what, timeoutMs = 30_000) {
      await until(() => what.test(screen()), { timeoutMs, intervalMs: 50 }).catch(() => {
        throw new Error(`waited in vain for ${what} on\n${screen()}`)
      })
      return screen()
    },
    resize: (wide, high) =>
      void tmux('resize-window', '-t', 's', '-x', String(wide), '-y', String(high)),
    ask: (format) => tmux('display', '-p', '-t', 's', format).trim(),
    async [Symbol.asyncDispose]() {
      spawnSync('tmux', ['-L', server, 'kill-server'], { stdio: 'ignore' })
    },
  }
}
