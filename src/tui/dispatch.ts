// The one place that keys arrive at: a question before a prompt before the screen before what holds
// everywhere.

import { ACTIONS } from './actions/actions.ts'
import { reasonAgainst } from './actions/reasons.ts'
import { underCursor } from './actions/target.ts'
import type { Console } from './console.ts'
import { keyContextOf } from './context.ts'
import { pasteIntoForm } from './form-keys.ts'
import { bindingOf } from './keymap.ts'
import { pressInOverlay } from './overlay-keys.ts'
import { pasteIntoPrompt, pressInPrompt } from './prompt.ts'

/** Keys of one event, in order; what they change is drawn once. */
export function press(console: Console, keys: readonly string[]): void {
  console.store.touched()
  console.store.batch(() => {
    for (const key of keys) pressOne(console, key)
  })
}

export function paste(console: Console, text: string): void {
  const { prompt, overlays } = console.ui
  const overlay = overlays.at(-1)
  if (overlay?.kind === 'form') pasteIntoForm(console, overlay, text)
  else if (prompt !== undefined && overlays.length === 0) pasteIntoPrompt(console, prompt, text)
  else console.say('note', 'a paste is only taken where text is typed')
}

function pressOne(console: Console, key: string): void {
  const { ui } = console
  if (ui.message !== undefined && ui.message.tone !== 'busy') console.update({ message: undefined })
  const overlay = ui.overlays.at(-1)
  if (overlay !== undefined) {
    pressInOverlay(console, overlay, key)
    return
  }
  if (ui.prompt !== undefined) {
    pressInPrompt(console, ui.prompt, key)
    return
  }
  const binding = bindingOf(key, keyContextOf(ui))
  if (binding === undefined) return
  const reason = reasonAgainst(binding, console.view())
  if (reason === undefined) {
    pinCursor(console)
    ACTIONS[binding.id](console)
  } else console.say('note', reason)
}

/**
 * A cursor that nobody moved yet stands on the first row, whichever that is; with the first key it
 * belongs to the row that it stands on. Only events that are followed stay with the newest.
 */
function pinCursor(console: Console): void {
  const { screen, screens, follow } = console.ui
  if (screens[screen].row !== undefined || (screen === 'events' && follow)) return
  const view = console.fleet()
  const row = view === undefined ? undefined : underCursor(view)
  if (row !== undefined) console.updateScreen({ row })
}
