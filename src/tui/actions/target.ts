// What the cursor of the screen stands on.

import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import type { Cell } from '../../gateway/contract/schema/placement.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { cursorIndex, type Identified } from '../cursor.ts'
import { eventItems } from '../screens/events.ts'
import type { MatrixItem } from '../screens/matrix-items.ts'
import { modelItems } from '../screens/models.ts'
import { cellOn, matrixFrame } from '../screens/matrix-frame.ts'
import { requestItems } from '../screens/requests.ts'
import { tenantItems } from '../screens/tenant-items.ts'
import { workerItems } from '../screens/workers-rows.ts'
import type { ScreenId } from '../state.ts'
import { type FleetView, screenState } from '../view.ts'

/** The rows of a screen, in the order in which they are drawn. */
export function rowsOf(view: FleetView, screen: ScreenId = view.ui.screen): readonly Identified[] {
  switch (screen) {
    case 'placement':
      return matrixFrame(view).items
    case 'workers':
      return workerItems(view.snapshot, view.ui)
    case 'requests':
      return requestItems(view.snapshot, view.ui)
    case 'models':
      return modelItems(view.snapshot, view.ui)
    case 'events':
      return eventItems(view.snapshot, view.ui)
    case 'tenants':
      return tenantItems(view.snapshot, view.ui)
  }
}

/** Id of the row under the cursor. */
export function underCursor(view: FleetView): string | undefined {
  if (view.ui.screen === 'placement') return itemUnderCursor(view)?.id
  const rows = rowsOf(view)
  return rows[cursorIndex(rows, screenState(view))]?.id
}

export function itemUnderCursor(view: FleetView): MatrixItem | undefined {
  const { items, row } = matrixFrame(view)
  return items[row]
}

/** The worker of the matrix column, of the row of workers, or of the draft. */
export function workerUnderCursor(view: FleetView): WorkerRow | undefined {
  if (view.ui.screen === 'placement') {
    const { columns, column } = matrixFrame(view)
    return columns[column]
  }
  if (view.ui.screen !== 'workers') return undefined
  return view.snapshot.workers.find(({ name }) => name === underCursor(view))
}

export function modelUnderCursor(view: FleetView): ModelRow | undefined {
  const name = modelNameUnderCursor(view)
  return name === undefined ? undefined : view.snapshot.models.find(({ model }) => model === name)
}

function modelNameUnderCursor(view: FleetView): string | undefined {
  const id = underCursor(view)
  switch (view.ui.screen) {
    case 'placement':
    case 'models':
      return id
    case 'requests':
      return view.snapshot.requests.find((row) => row.id === id)?.model
    case 'workers':
    case 'events':
    case 'tenants':
      return undefined
  }
}

export function cellUnderCursor(
  view: FleetView,
): { row: ModelRow; worker: WorkerRow; cell: Cell } | undefined {
  const row = modelUnderCursor(view)
  const worker = workerUnderCursor(view)
  if (row === undefined || worker === undefined) return undefined
  const cell = cellOn(row, worker)
  return cell === undefined ? undefined : { row, worker, cell }
}
