// Keys while a box is open. It has the focus: nothing below it hears them.

import type { Console } from './console.ts'
import { keyContextOf } from './context.ts'
import { copyText } from './copy.ts'
import { pressInForm } from './form-keys.ts'
import { typedBy } from './input.ts'
import { helpLines } from './screens/help.ts'
import type { ConfirmOverlay, Overlay, SecretOverlay } from './state.ts'
import { isTypedAhead } from './type-ahead.ts'

export function pressInOverlay(console: Console, overlay: Overlay, key: string): void {
  switch (overlay.kind) {
    case 'confirm':
      pressInConfirm(console, overlay, key)
      return
    case 'menu':
      pressInMenu(console, overlay, key)
      return
    case 'help':
      pressInHelp(console, overlay, key)
      return
    case 'form':
      pressInForm(console, overlay, key)
      return
    case 'secret':
      pressInSecret(console, overlay, key)
      return
    case 'text':
      pressInText(console, overlay, key)
  }
}

/** Only Esc closes it: what stands in it is shown once. */
function pressInSecret(console: Console, overlay: SecretOverlay, key: string): void {
  if (key === 'y') {
    copyText(console, overlay.secret)
    console.say('done', 'copied, through the terminal')
  } else if (key === 'esc' && !isTypedAhead(console, overlay)) {
    console.close()
  }
}

function pressInConfirm(console: Console, overlay: ConfirmOverlay, key: string): void {
  if (key === 'esc' || key === 'n' || key === 'q' || key === 'C-c') {
    cancel(console, overlay)
    return
  }
  if (['left', 'right', 'tab', 'S-tab', 'h', 'l'].includes(key)) {
    console.replace({ ...overlay, focus: overlay.focus === 'cancel' ? 'yes' : 'cancel' })
    return
  }
  if (isTypedAhead(console, overlay)) return
  if (key === 'y' || (key === 'enter' && overlay.focus === 'yes')) {
    console.close()
    overlay.onYes()
  } else if (key === 'enter') {
    cancel(console, overlay)
  }
}

function cancel(console: Console, overlay: ConfirmOverlay): void {
  console.close()
  overlay.onCancel?.()
  console.say('note', 'nothing was changed')
}

function pressInMenu(
  console: Console,
  overlay: Extract<Overlay, { kind: 'menu' }>,
  key: string,
): void {
  const { items, index } = overlay
  const chosen = key === 'enter' ? items[index] : items.find((item) => item.key === key)
  // Letters choose before they move, but j and k always move.
  if (key === 'j' || key === 'down' || key === 'k' || key === 'up') {
    const step = key === 'j' || key === 'down' ? 1 : -1
    console.replace({ ...overlay, index: (index + step + items.length) % items.length })
  } else if (key === 'esc' || key === 'q' || key === 'C-c') {
    console.close()
  } else if (chosen !== undefined) {
    console.close()
    chosen.run()
  }
}

function scrolled(key: string, page: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    j: 1,
    down: 1,
    k: -1,
    up: -1,
    pgdn: page,
    space: page,
    'C-d': Math.ceil(page / 2),
    pgup: -page,
    'C-u': -Math.ceil(page / 2),
    g: Number.NEGATIVE_INFINITY,
    home: Number.NEGATIVE_INFINITY,
    G: Number.POSITIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
  }
  return steps[key]
}

function pressInText(
  console: Console,
  overlay: Extract<Overlay, { kind: 'text' }>,
  key: string,
): void {
  const action = overlay.keys?.[key]
  if (action !== undefined) {
    console.close()
    action()
    return
  }
  const page = Math.max(1, console.view().layout.body - 3)
  const step = scrolled(key, page)
  if (step !== undefined) {
    const last = Math.max(0, overlay.lines.length - page)
    console.replace({ ...overlay, top: Math.max(0, Math.min(last, overlay.top + step)) })
    return
  }
  if (['esc', 'q', 'enter', 'C-c'].includes(key)) console.close()
}

/** Letters filter; arrows and page keys scroll. */
function pressInHelp(
  console: Console,
  overlay: Extract<Overlay, { kind: 'help' }>,
  key: string,
): void {
  const { layout } = console.view()
  const page = layout.body
  const step = key.length > 1 || overlay.filter === '' ? scrolled(key, page) : undefined
  if (step !== undefined) {
    const ask = { context: keyContextOf(console.ui), filter: overlay.filter }
    const last = Math.max(0, helpLines(layout.columns, ask).length - page)
    console.replace({ ...overlay, top: Math.max(0, Math.min(last, overlay.top + step)) })
    return
  }
  if (key === 'esc' || key === 'C-c' || key === 'enter') {
    console.close()
    return
  }
  const typed = key === 'backspace' ? undefined : typedBy(key)
  const filter = key === 'backspace' ? overlay.filter.slice(0, -1) : overlay.filter + (typed ?? '')
  if (filter !== overlay.filter) console.replace({ ...overlay, filter, top: 0 })
}
