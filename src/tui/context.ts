// Which keys hold now.

import type { KeyContext } from './keymap.ts'
import type { UiState } from './state.ts'

export function keyContextOf({ screen, draft }: UiState): KeyContext {
  return draft !== undefined ? 'ruleset' : screen
}
