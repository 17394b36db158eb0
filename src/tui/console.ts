// The console that keys act on: its store, its gateway, its terminal. What each key does stands in
// actions/; what is drawn stands in screens/.

import type { AdminClient } from '../gateway/contract/client.ts'
import type { FeedHandle } from './feed.ts'
import { layoutOf } from './layout.ts'
import { sanitise } from './present/text.ts'
import type { Message, Overlay, Prompt, UiState } from './state.ts'
import type { ConsoleStore } from './store.ts'
import type { Theme } from './theme.ts'
import { fleetView, type FleetView, type View } from './view.ts'

/** The commands of the CLI, for the palette: it accepts exactly their grammar. */
export interface CommandRunner {
  run(words: readonly string[], signal: AbortSignal): Promise<CommandResult>
  /** What the last word could be. */
  complete(words: readonly string[]): Promise<readonly string[]>
}

export interface CommandResult {
  code: number
  out: string
  err: string
}

/** What the console asks of the terminal beside drawing. */
export interface TerminalControl {
  size(): { columns: number; rows: number }
  /** Draws everything again. */
  redraw(): void
  /** Gives the terminal back to the shell until `fg`. */
  suspend(): void
  /** Lets a program have the terminal, and returns when it ended. */
  lend(run: () => void): Promise<void>
  /** Writes control codes past the terminal library. */
  write(codes: string): void
  quit(): void
}

export interface ConsoleParts {
  store: ConsoleStore
  admin: AdminClient
  feed: FeedHandle
  terminal: TerminalControl
  commands: CommandRunner
  theme: Theme
  readOnly: boolean
  /** Offset of local time in minutes, as Date.getTimezoneOffset. */
  zone: number
  /** For $EDITOR and temporary files. */
  env: Readonly<Record<string, string | undefined>>
}

/** A message that is no error goes away by itself. */
const MESSAGE_MS = 8_000
const NOTHING_ACKED = { placement: 0, workers: 0, tenants: 0, keys: 0 }

export class Console {
  readonly store: ConsoleStore
  readonly admin: AdminClient
  readonly feed: FeedHandle
  readonly terminal: TerminalControl
  readonly commands: CommandRunner
  readonly theme: Theme
  readonly readOnly: boolean
  readonly env: ConsoleParts['env']
  readonly #zone: number
  /** Revisions that our own edits made, which the picture may not show yet. */
  readonly acked = { ...NOTHING_ACKED }
  /** Edits made from here, for the line that is printed at the end. */
  edits = 0
  #queue: Promise<void> = Promise.resolve()
  readonly closing = new AbortController()

  constructor(parts: ConsoleParts) {
    this.store = parts.store
    this.admin = parts.admin
    this.feed = parts.feed
    this.terminal = parts.terminal
    this.commands = parts.commands
    this.theme = parts.theme
    this.readOnly = parts.readOnly
    this.env = parts.env
    this.#zone = parts.zone
  }

  get ui(): UiState {
    return this.store.ui
  }

  view(): View {
    const { columns, rows } = this.terminal.size()
    const { feed, ui, samples } = this.store.getState()
    return {
      feed,
      ui,
      samples,
      layout: layoutOf(columns, rows),
      theme: this.theme,
      readOnly: this.readOnly,
      mono: this.store.clock.mono(),
      wall: this.store.clock.now(),
      zone: this.#zone,
    }
  }

  /** The view with a picture of the fleet; undefined before the first one came. */
  fleet(): FleetView | undefined {
    return fleetView(this.view())
  }

  /** The picture shows all that was done from here: after a restore its revisions are lower. */
  forgetAcked(): void {
    Object.assign(this.acked, NOTHING_ACKED)
  }

  update(change: Partial<UiState>): void {
    this.store.updateUi(change)
  }

  updateMatrix(change: Partial<UiState['matrix']>): void {
    this.update({ matrix: { ...this.ui.matrix, ...change } })
  }

  updateTenants(change: Partial<UiState['tenants']>): void {
    this.update({ tenants: { ...this.ui.tenants, ...change } })
  }

  updateScreen(change: Partial<UiState['screens']['placement']>, screen = this.ui.screen): void {
    const { screens } = this.ui
    this.update({ screens: { ...screens, [screen]: { ...screens[screen], ...change } } })
  }

  /** Text of the gateway may hold what a stranger wrote; here it becomes harmless. */
  say(tone: Message['tone'], text: string): void {
    const { clock } = this.store
    const since = clock.mono()
    this.update({
      message: { tone, at: clock.now(), text: sanitise(text), sticky: tone === 'error', since },
    })
    if (tone === 'error' || tone === 'busy') return
    clock.after(MESSAGE_MS, () => {
      if (this.ui.message?.since === since) this.update({ message: undefined })
    })
  }

  open(overlay: Overlay): void {
    this.update({ overlays: [...this.ui.overlays, overlay] })
  }

  close(): void {
    this.update({ overlays: this.ui.overlays.slice(0, -1) })
  }

  /** Replaces the topmost overlay, as when it scrolls. */
  replace(overlay: Overlay): void {
    this.update({ overlays: [...this.ui.overlays.slice(0, -1), overlay] })
  }

  ask(prompt: Pick<Prompt, 'kind' | 'label' | 'onSubmit'> & Partial<Prompt>): void {
    const text = prompt.text ?? ''
    const caret = [...new Intl.Segmenter().segment(text)].length
    this.update({
      prompt: { hint: '', completions: [], history: [], at: 0, ...prompt, text, caret },
    })
  }

  /** One change after the other: each is compared with what the one before it made. */
  inOrder(change: () => Promise<void>): void {
    this.#queue = this.#queue.then(change)
  }
}
