// What each entry of the keymap does.

import type { Console } from '../console.ts'
import type { ActionId } from '../keymap.ts'
import * as events from './events.ts'
import * as models from './models.ts'
import * as move from './move.ts'
import { askPalette } from './palette.ts'
import * as placement from './placement.ts'
import * as requests from './requests.ts'
import * as ruleset from './ruleset.ts'
import * as screens from './screens.ts'
import * as session from './session.ts'
import { askGrant, askReset } from './tenant-credits.ts'
import { openKeys, revokeKey } from './tenant-keys.ts'
import { undoTenant } from './tenant-undo.ts'
import * as tenants from './tenants.ts'
import * as workers from './workers.ts'

/** An entry of the keymap without an action does not compile. */
export const ACTIONS: Readonly<Record<ActionId, (console: Console) => void>> = {
  'screen.1': (console) => screens.goToScreen(console, 'placement'),
  'screen.2': (console) => screens.goToScreen(console, 'workers'),
  'screen.3': (console) => screens.goToScreen(console, 'requests'),
  'screen.4': (console) => screens.goToScreen(console, 'models'),
  'screen.5': (console) => screens.goToScreen(console, 'tenants'),
  'screen.6': (console) => screens.goToScreen(console, 'events'),
  'screen.next': (console) => screens.stepScreen(console, 1),
  'screen.previous': (console) => screens.stepScreen(console, -1),
  'move.down': (console) => move.moveRow(console, 'down'),
  'move.up': (console) => move.moveRow(console, 'up'),
  'move.left': (console) => move.moveColumn(console, 'left'),
  'move.right': (console) => move.moveColumn(console, 'right'),
  'move.pageDown': (console) => move.moveRow(console, 'pageDown'),
  'move.pageUp': (console) => move.moveRow(console, 'pageUp'),
  'move.halfDown': (console) => move.moveRow(console, 'halfDown'),
  'move.halfUp': (console) => move.moveRow(console, 'halfUp'),
  'move.first': (console) => move.moveRow(console, 'first'),
  'move.last': (console) => move.moveRow(console, 'last'),
  'move.firstColumn': (console) => move.moveColumn(console, 'first'),
  'move.lastColumn': (console) => move.moveColumn(console, 'last'),
  back: screens.goBack,
  quit: (console) => screens.leaveDraft(console, () => session.quit(console)),
  help: session.openHelp,
  palette: askPalette,
  filter: session.askFilter,
  'filter.next': (console) => move.moveMatch(console, 1),
  'filter.previous': (console) => move.moveMatch(console, -1),
  sort: session.pickSort,
  'sort.reverse': session.reverseSort,
  undo: events.undoLast,
  copy: session.copyName,
  pause: session.togglePause,
  refresh: session.refresh,
  'rate.up': (console) => session.changeRate(console, 1),
  'rate.down': (console) => session.changeRate(console, -1),
  redraw: (console) => console.terminal.redraw(),
  suspend: (console) => console.terminal.suspend(),
  'cell.toggle': placement.toggleCell,
  'cell.allow': (console) => placement.setVerdict(console, 'allow'),
  'cell.deny': (console) => placement.setVerdict(console, 'deny'),
  'cell.clear': (console) => placement.setVerdict(console, 'clear'),
  'prefix.allow': (console) => placement.askPrefix(console, 'allow'),
  'prefix.deny': (console) => placement.askPrefix(console, 'deny'),
  'cell.why': placement.showWhy,
  'mark.range': placement.markRange,
  'mark.one': placement.markOne,
  'cell.worker': screens.goToWorker,
  fold: placement.toggleFold,
  density: placement.nextDensity,
  'worker.filter': session.askWorkerFilter,
  freeze: placement.freezeColumn,
  'ruleset.open': ruleset.openRuleset,
  load: (console) =>
    console.ui.screen === 'workers' ? workers.loadOnWorker(console) : models.loadHere(console),
  'worker.drain': workers.drainOrResume,
  'worker.probe': workers.probeWorker,
  'worker.view': workers.nextCardView,
  'worker.inventory': workers.showInventory,
  'worker.detail': workers.showWorker,
  'request.detail': requests.showRequest,
  'request.cancel': requests.cancelRequest,
  'request.phase': requests.pickPhase,
  'model.jump': requests.jumpToModel,
  'model.detail': models.showModel,
  'model.capability': models.pickCapability,
  'model.pull': models.askPull,
  'model.explain': models.explainModel,
  'tenant.open': tenants.openTenant,
  'tenant.grant': askGrant,
  'tenant.reset': askReset,
  'tenant.keys': openKeys,
  'tenant.revoke': revokeKey,
  'tenant.undo': undoTenant,
  'tenant.pane': (console) => tenants.nextPane(console, 1),
  'tenant.paneBack': (console) => tenants.nextPane(console, -1),
  'event.expand': (console) => console.update({ expanded: !console.ui.expanded }),
  'event.undo': events.undoEvent,
  'event.follow': events.toggleFollow,
  'event.pane': events.nextPane,
  'rule.new': ruleset.newRule,
  'rule.edit': ruleset.editRule,
  'rule.flip': ruleset.flipRule,
  'rule.delete': ruleset.deleteRule,
  'rule.mode': ruleset.toggleMode,
  'rule.allowAll': (console) => ruleset.preset(console, 'allow-all'),
  'rule.onlyInstalled': (console) => ruleset.preset(console, 'only-installed'),
  'rule.blockAll': (console) => ruleset.preset(console, 'block-all'),
  'rule.reset': ruleset.resetDraft,
  'rule.json': ruleset.editAsJson,
  'rule.apply': ruleset.applyDraft,
}
