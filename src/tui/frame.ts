// One frame: a view in, as many rows as the terminal has out. Pure, so that tests compare frames
// without a terminal.

import { isTooSmall } from './layout.ts'
import * as chrome from './screens/chrome.ts'
import { pictureOf } from './screens/screens.ts'
import { withOverlay } from './screens/overlays.ts'
import { tooSmallFrame, withoutFleet } from './screens/states.ts'
import { type Line, paint } from './theme.ts'
import { fillRows, fleetView, type Picture, type View } from './view.ts'

/** The rows of the screen, each painted and exactly as wide as the terminal. */
export function frame(view: View): string[] {
  const { columns } = view.layout
  return frameLines(view).map((line) => paint(line, view.theme, columns))
}

function frameLines(view: View): readonly Line[] {
  const { layout } = view
  if (isTooSmall(layout.columns, layout.rows)) return tooSmallFrame(layout.columns, layout.rows)
  const { body, inspector, corner } = picture(view)
  const rule = layout.rules ? [chrome.ruleLine(layout.columns)] : []
  const shown = withOverlay(view, chrome.dimIfStale(view, body))
  return [
    chrome.identityLine(view),
    chrome.fleetLine(view),
    chrome.tabsLine(view, corner),
    ...rule,
    ...shown,
    ...rule,
    ...inspectorLines(view, inspector),
    chrome.messageLine(view),
    chrome.keyBar(view),
  ]
}

/** Completions of a prompt take the place of the inspector while somebody types. */
function inspectorLines({ ui, layout }: View, inspector: readonly Line[]): readonly Line[] {
  const offered = ui.prompt?.completions ?? []
  if (offered.length === 0) return fillRows(inspector, layout.inspector)
  return fillRows(
    [[{ text: ` ${offered.slice(0, 40).join('  ')}`, style: 'dim' }]],
    layout.inspector,
  )
}

function picture(view: View): Picture {
  const fleet = fleetView(view)
  if (fleet === undefined) return { body: withoutFleet(view), inspector: [], corner: [] }
  return pictureOf(fleet)
}
