// What the console remembers: where the cursor is, what is open, what was typed. The fleet itself
// is not here but in the feed. Rows are named by id and never by place, so that nothing happens to
// whoever slides under the cursor.

import type { AuditEntry, StateFile } from '../gateway/contract/schema/gateway.ts'
import type { PlacementRules } from '../gateway/contract/schema/common.ts'
import type { OutputOf } from '../gateway/contract/schema.ts'
import type { TenantField } from '../gateway/contract/tenant-fields.ts'
import type { FormOverlay } from './form.ts'
import type { Line } from './theme.ts'

export const SCREENS = ['placement', 'workers', 'requests', 'models', 'tenants', 'events'] as const
export type ScreenId = (typeof SCREENS)[number]

/** Where the cursor of one screen stands. */
export interface ScreenState {
  /** The row's id; undefined before anybody moved. */
  row: string | undefined
  /** Its place when it was last seen: its neighbour takes over when the row is gone. */
  index: number
  /** First row that is shown. */
  top: number
  filter: string
  sort: { by: string; reverse: boolean }
}

export type Density = 'auto' | 'words' | 'wide' | 'compact'

export interface MatrixState {
  /** Name of the worker under the cursor. */
  column: string | undefined
  columnIndex: number
  /** First worker column that is shown. */
  left: number
  density: Density
  /** Families that were folded or unfolded by hand. */
  folds: ReadonlyMap<string, boolean>
  /** Whether families are folded unless said otherwise; decided by the first snapshot. */
  foldAll: boolean
  workerFilter: string
  /** Worker columns that stay at the left. */
  frozen: readonly string[]
  marks: ReadonlySet<string>
  /** Where a range began; it reaches to the cursor. */
  anchor: CellId | undefined
  /** Cells whose change is on its way, with the revision that makes it real. */
  pending: ReadonlyMap<string, number>
}

export interface CellId {
  model: string
  worker: string
}

export const cellKey = ({ model, worker }: CellId): string => `${model}\n${worker}`

export interface Prompt {
  kind: 'filter' | 'palette' | 'text'
  label: string
  text: string
  /** Counted in letters, not in code units. */
  caret: number
  hint: string
  completions: readonly string[]
  /** Lines typed before, newest last; `at` is the one that is shown. */
  history: readonly string[]
  at: number
  onChange?(text: string): void
  onSubmit(text: string): void
  onCancel?(): void
  complete?(text: string): Promise<readonly string[]>
}

export interface MenuItem {
  key: string
  label: string
  run(): void
}

export type Overlay =
  | { kind: 'help'; top: number; filter: string }
  | TextOverlay
  | { kind: 'menu'; title: string; items: readonly MenuItem[]; index: number }
  | ConfirmOverlay
  | FormOverlay
  | SecretOverlay

/** What is shown once: it is nowhere else, and gone with this box. */
export interface SecretOverlay {
  kind: 'secret'
  title: string
  secret: string
  lines: readonly Line[]
  /** A key that was typed before it could be read must not close it. */
  openedMono: number
}

export interface TextOverlay {
  kind: 'text'
  title: string
  lines: readonly Line[]
  top: number
  hint?: string
  /** Keys that close it and do something. */
  keys?: Readonly<Record<string, () => void>>
}

export interface ConfirmOverlay {
  kind: 'confirm'
  title: string
  lines: readonly Line[]
  /** What the other button says; Cancel has the focus. */
  yes: string
  focus: 'cancel' | 'yes'
  /** Keys that were typed before anybody could read it must not press its button. */
  openedMono: number
  onYes(): void
  onCancel?(): void
}

export interface Message {
  tone: 'done' | 'note' | 'error' | 'busy'
  /** Wall clock. */
  at: number
  text: string
  /** Shown until the next key; the others go after a while. */
  sticky: boolean
  since: number
}

export interface Draft {
  worker: string
  rules: PlacementRules
  /** The rules and the revision it began with. */
  before: PlacementRules
  revision: number
  index: number
  /** What the gateway says that the draft would do; undefined while it is asked. */
  plan: OutputOf<'placement.set'> | undefined
  problem: string | undefined
}

export type TenantPane = 'actors' | 'keys'

/** Where the cursor of a pane stands, as in ScreenState. */
export type PaneCursor = Pick<ScreenState, 'row' | 'index' | 'top'>

/** A change of tenants made from this console, as what takes it back. */
export type TenantUndo =
  | {
      kind: 'set'
      tenant: string
      /** Fields as they were, and those that were as in the config. */
      restore: TenantEdit
      unset: readonly TenantField[]
      /** As the change left them: whoever changed them since is not overruled. */
      after: TenantEdit
    }
  | { kind: 'grant'; tenant: string; actor: string | undefined; tokens: number }

/** Settings of a tenant that can be changed. */
export type TenantEdit = Partial<Pick<OutputOf<'tenants.show'>, TenantField>>

export interface TenantsUi {
  /** The list that the cursor keys move in. */
  focus: 'list' | TenantPane
  /** The pane that is shown where there is room for one. */
  pane: TenantPane
  cursors: Readonly<Record<TenantPane, PaneCursor>>
  /** Actors and keys of a tenant, as the gateway last told them; undefined before. */
  use: OutputOf<'tenants.use'> | undefined
  /** Why they could not be told. */
  problem: string | undefined
  /** The newest last. */
  undo: readonly TenantUndo[]
}

export type EventsPane = 'events' | 'audit' | 'storage'

export interface UiState {
  screen: ScreenId
  /** Screens left by a jump, the newest last. */
  trail: readonly ScreenId[]
  screens: Readonly<Record<ScreenId, ScreenState>>
  matrix: MatrixState
  cardView: 'auto' | 'cards' | 'table'
  /** Requests by phase, models by capability; empty = all. */
  requestPhase: string
  capability: string
  pane: EventsPane
  expanded: boolean
  follow: boolean
  audit: readonly AuditEntry[]
  storage: readonly StateFile[]
  overlays: readonly Overlay[]
  prompt: Prompt | undefined
  draft: Draft | undefined
  tenants: TenantsUi
  message: Message | undefined
  paused: boolean
  /** Milliseconds between two pictures of the fleet. */
  period: number
  /** Edits made from this console, the newest last. */
  undo: readonly number[]
  lastMoveMono: number
}

export const PANE_TOP: PaneCursor = { row: undefined, index: 0, top: 0 }

const blank = (by: string): ScreenState => ({
  row: undefined,
  index: 0,
  top: 0,
  filter: '',
  sort: { by, reverse: false },
})

export const INITIAL_UI: UiState = {
  screen: 'placement',
  trail: [],
  screens: {
    placement: blank('model'),
    workers: blank('config'),
    requests: blank('age'),
    models: blank('model'),
    tenants: blank('tenant'),
    events: blank('time'),
  },
  matrix: {
    column: undefined,
    columnIndex: 0,
    left: 0,
    density: 'auto',
    folds: new Map(),
    foldAll: false,
    workerFilter: '',
    frozen: [],
    marks: new Set(),
    anchor: undefined,
    pending: new Map(),
  },
  cardView: 'auto',
  requestPhase: '',
  capability: '',
  pane: 'events',
  expanded: false,
  follow: true,
  audit: [],
  storage: [],
  overlays: [],
  prompt: undefined,
  draft: undefined,
  tenants: {
    focus: 'list',
    pane: 'actors',
    cursors: { actors: PANE_TOP, keys: PANE_TOP },
    use: undefined,
    problem: undefined,
    undo: [],
  },
  message: undefined,
  paused: false,
  period: 250,
  undo: [],
  lastMoveMono: Number.NEGATIVE_INFINITY,
}
