// What a screen reader reads: where one is, what is under the cursor, what was said. Words only,
// no columns and no drawing.

import { keyContextOf } from './context.ts'
import { barOf, keyName } from './keymap.ts'
import { fleetLine, identityLine, messageLine, titleOf } from './screens/chrome.ts'
import { withoutFleet } from './screens/states.ts'
import { pictureOf } from './screens/screens.ts'
import type { Line } from './theme.ts'
import { cellUnderCursor, rowsOf, underCursor } from './actions/target.ts'
import { sanitise } from './present/text.ts'
import { plural } from './present/units.ts'
import { cellInWords } from './screens/matrix-cell.ts'
import { runningOn } from './screens/matrix-frame.ts'
import { cancelAt, type FormOverlay, textOf } from './form.ts'
import type { Overlay } from './state.ts'
import { fleetView, type FleetView, type View } from './view.ts'

export function readerLines(view: View): string[] {
  const fleet = fleetView(view)
  const lines = fleet === undefined ? withoutFleet(view).map(plain) : fleetLines(fleet)
  const overlay = view.ui.overlays.at(-1)
  return [
    ...(overlay === undefined ? lines : overlayLines(overlay)),
    plain(messageLine(view)),
  ].filter((line) => line.trim() !== '')
}

function fleetLines(view: FleetView): string[] {
  const { ui } = view
  const keys = barOf(keyContextOf(ui))
    .slice(0, 8)
    .map(({ keys: [first = ''], bar = '' }) => `${keyName(first)} ${bar}`)
  return [
    plain(identityLine(view)),
    plain(fleetLine(view)),
    `screen ${titleOf(ui.screen)}, ${plural(rowsOf(view).length, 'row')}`,
    whereWeAre(view),
    ...pictureOf(view).inspector.map(plain),
    `keys: ${keys.join(', ')}, ? help`,
  ]
}

function whereWeAre(view: FleetView): string {
  const target = view.ui.screen === 'placement' ? cellUnderCursor(view) : undefined
  if (target === undefined) return sanitise(underCursor(view) ?? 'no row')
  const { row, worker, cell } = target
  const runs = runningOn(view.snapshot, worker.name, row.model)
  return `${sanitise(row.model)} on ${sanitise(worker.name)}: ${cellInWords(cell, runs)}`
}

function overlayLines(overlay: Overlay): string[] {
  switch (overlay.kind) {
    case 'help':
      return ['help: Esc closes']
    case 'text':
      return [overlay.title, ...overlay.lines.map(plain), 'Esc closes']
    case 'menu':
      return [
        overlay.title,
        ...overlay.items.map(({ key, label }) => `${key} ${label}`),
        'Esc closes',
      ]
    case 'secret':
      return [overlay.title, overlay.secret, ...overlay.lines.map(plain), 'y copies it, Esc closes']
    case 'form':
      return [overlay.title, ...formInWords(overlay), 'Ctrl-S applies, Esc cancels']
    case 'confirm':
      return [overlay.title, ...overlay.lines.map(plain), `y ${overlay.yes}, Esc cancels`]
  }
}

/** What is wrong, and the field that has the focus with its place. */
function formInWords(form: FormOverlay): string[] {
  const field = form.fields[form.focus]
  if (field === undefined) {
    return [form.problem, `button ${form.focus === cancelAt(form) ? 'Cancel' : form.yes}`]
  }
  const value =
    field.kind === 'limit' && field.unlimited ? 'unlimited' : sanitise(textOf(form, field.id))
  const place = `${form.focus + 1} of ${form.fields.length}`
  return [form.problem, `field ${place}, ${field.label}: ${value}`, field.hint]
}

/** Signs that would be read out letter by letter are left out. */
function plain(line: Line): string {
  return line
    .map(({ text }) => text)
    .join('')
    .replaceAll(/[─│┌┐└┘█░·▁▂▃▄▅▆▇]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
