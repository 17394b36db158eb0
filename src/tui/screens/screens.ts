// Which screen draws what.

import type { FleetView, Picture } from '../view.ts'
import { eventsPicture } from './events.ts'
import { modelsPicture } from './models.ts'
import { placementPicture } from './placement.ts'
import { requestsPicture } from './requests.ts'
import { rulesetPicture } from './ruleset.ts'
import { tenantsPicture } from './tenants.ts'
import { workersPicture } from './workers.ts'

export function pictureOf(view: FleetView): Picture {
  if (view.ui.draft !== undefined) return rulesetPicture(view, view.ui.draft)
  switch (view.ui.screen) {
    case 'placement':
      return placementPicture(view)
    case 'workers':
      return workersPicture(view)
    case 'requests':
      return requestsPicture(view)
    case 'models':
      return modelsPicture(view)
    case 'events':
      return eventsPicture(view)
    case 'tenants':
      return tenantsPicture(view)
  }
}
