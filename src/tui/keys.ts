// The keys themselves. Their order is the order of the key bar and of the help.

import type { ActionId, Binding, KeyContext } from './keymap.ts'

/** Action, its keys, what it does, its word in the key bar. */
type Row = readonly [id: ActionId, keys: string, help: string, bar?: string]

function bindings(on: KeyContext, rows: readonly Row[]): Binding[] {
  return rows.map(([id, keys, help, bar]) => {
    const twin = TWINS[id]
    return {
      id,
      on,
      keys: keys.split(' '),
      help,
      ...(bar !== undefined && { bar }),
      ...(CHANGES.has(id) && { changes: true }),
      ...(twin !== undefined && { twin }),
    }
  })
}

/** They change something: refused with --read-only and while the gateway is gone. */
const CHANGES: ReadonlySet<ActionId> = new Set<ActionId>([
  'cell.toggle',
  'cell.allow',
  'cell.deny',
  'cell.clear',
  'prefix.allow',
  'prefix.deny',
  'load',
  'worker.drain',
  'worker.probe',
  'rule.new',
  'rule.edit',
  'rule.flip',
  'rule.delete',
  'rule.mode',
  'rule.allowAll',
  'rule.onlyInstalled',
  'rule.blockAll',
  'rule.reset',
  'rule.json',
  'rule.apply',
  'request.cancel',
  'model.pull',
  'event.undo',
  'tenant.grant',
  'tenant.reset',
  'tenant.keys',
  'tenant.revoke',
  'tenant.undo',
  'undo',
])

/** The commands that do the same. */
const TWINS: Readonly<Partial<Record<ActionId, string>>> = {
  'cell.toggle': 'ogw placement allow|deny|clear MODEL WORKER',
  'cell.allow': 'ogw placement allow MODEL WORKER',
  'cell.deny': 'ogw placement deny MODEL WORKER',
  'cell.clear': 'ogw placement clear MODEL WORKER',
  'prefix.allow': 'ogw placement allow PREFIX WORKER',
  'prefix.deny': 'ogw placement deny PREFIX WORKER',
  'cell.why': 'ogw placement why MODEL WORKER',
  'ruleset.open': 'ogw placement show --worker WORKER',
  load: 'ogw models load|unload MODEL --worker WORKER',
  'model.explain': 'ogw explain MODEL',
  'worker.drain': 'ogw workers drain|resume WORKER',
  'worker.probe': 'ogw workers probe WORKER',
  'rule.mode': 'ogw placement mode WORKER MODE',
  'rule.allowAll': 'ogw placement preset WORKER allow-all',
  'rule.onlyInstalled': 'ogw placement preset WORKER only-installed',
  'rule.blockAll': 'ogw placement preset WORKER block-all',
  'rule.reset': 'ogw placement reset WORKER',
  'rule.apply': 'ogw placement apply -f FILE',
  'request.detail': 'ogw requests show ID',
  'request.cancel': 'ogw requests cancel ID',
  'model.detail': 'ogw models show MODEL',
  'model.pull': 'ogw models pull MODEL --all',
  'tenant.open': 'ogw tenants show|set TENANT',
  'tenant.grant': 'ogw credits grant TENANT TOKENS [--actor ACTOR]',
  'tenant.reset': 'ogw credits reset TENANT [--actor ACTOR]',
  'tenant.keys': 'ogw keys create --tenant TENANT',
  'tenant.revoke': 'ogw keys revoke ID',
  'event.undo': 'ogw placement undo ID',
  'event.pane': 'ogw events | audit | storage',
  undo: 'ogw placement undo [ID]',
}

const PLACEMENT = bindings('placement', [
  ['cell.toggle', 'space', 'toggle the exact exception', 'toggle'],
  ['cell.allow', 'a', 'allow exactly; on a family row its prefix', 'allow'],
  ['cell.deny', 'd', 'deny exactly; on a family row its prefix', 'deny'],
  ['cell.clear', 'x', 'remove the rule of this row', 'clear'],
  ['prefix.allow', 'A', 'allow a prefix, which is asked for'],
  ['prefix.deny', 'D', 'deny a prefix, which is asked for'],
  ['cell.why', 'w', 'why: the rule that decides, and those that lost', 'why'],
  ['mark.range', 'v', 'mark a range: begin here, move, act on all', 'mark'],
  ['mark.one', 'm', 'mark this cell'],
  ['ruleset.open', 'e', 'rules of this worker', 'rules'],
  ['load', 'L', 'load the model here, or unload it', 'load'],
  ['cell.worker', 'enter', 'the worker of this cell'],
  ['fold', 'z', 'fold or unfold the family'],
  ['density', 'i', 'density: auto, words, wide, compact'],
  ['worker.filter', 'W', 'filter the worker columns'],
  ['freeze', 'F', 'keep this worker column at the left'],
  ['model.explain', 'E', 'explain where a request would run now'],
])

const WORKERS = bindings('workers', [
  ['worker.detail', 'enter', 'everything about this worker', 'detail'],
  ['ruleset.open', 'e', 'rules of this worker', 'ruleset'],
  ['worker.drain', 'c', 'drain, or resume', 'drain/resume'],
  ['worker.probe', 'P', 'probe now', 'probe'],
  ['load', 'L', 'load a model here, or unload one', 'load'],
  ['worker.inventory', 'i', 'models installed here', 'inventory'],
  ['worker.view', 't', 'cards, table, or what fits', 'view'],
])

const RULESET = bindings('ruleset', [
  ['rule.new', 'n', 'new rule', 'new'],
  ['rule.edit', 'enter', 'edit the pattern', 'edit'],
  ['rule.flip', 'space', 'allow or deny', 'verdict'],
  ['rule.delete', 'x', 'delete the rule', 'delete'],
  ['rule.apply', 'C-s', 'apply the draft', 'apply'],
  ['rule.mode', 'm', 'mode: allow_all or whitelist', 'mode'],
  ['rule.json', 'E', 'edit as JSON in $EDITOR', 'JSON'],
  ['rule.reset', 'R', 'back to the rules of the config', 'reset'],
  ['rule.allowAll', 'A', 'preset: allow all'],
  ['rule.onlyInstalled', 'O', 'preset: only what is installed'],
  ['rule.blockAll', 'B', 'preset: block all'],
])

const REQUESTS = bindings('requests', [
  ['request.detail', 'enter', 'details, with every decision', 'details'],
  ['request.cancel', 'c', 'cancel (asks)', 'cancel'],
  ['request.phase', 'f', 'only one phase', 'phase'],
  ['model.jump', 'J', 'to this model in the matrix', 'model'],
])

const MODELS = bindings('models', [
  ['model.detail', 'enter', 'the copies, worker by worker', 'detail'],
  ['model.jump', 'J', 'to this model in the matrix', 'matrix'],
  ['load', 'L', 'load it somewhere, or unload it', 'load'],
  ['model.pull', 'P', 'pull a model, with progress', 'pull'],
  ['model.explain', 'E', 'explain where a request would run now', 'explain'],
  ['model.capability', 'f', 'only one capability', 'caps'],
])

const TENANTS = bindings('tenants', [
  ['tenant.open', 'enter', 'policy with its limits; on a key: the key', 'policy'],
  ['tenant.grant', 'C', 'grant credits, to the tenant or the actor', 'credits'],
  ['tenant.keys', 'K', 'keys: make one, shown once; revoke one', 'keys'],
  ['tenant.pane', 'tab', 'actors, keys, and back to the tenants', 'pane'],
  ['tenant.undo', 'u', 'undo my last change of a tenant or grant', 'undo'],
  ['tenant.reset', 'R', 'count credits from zero again (asks)', 'reset'],
  ['tenant.revoke', 'x', 'revoke this key (its id is typed)'],
  ['tenant.paneBack', 'S-tab', 'the same the other way round'],
])

const EVENTS = bindings('events', [
  ['event.expand', 'enter', 'the whole entry', 'expand'],
  ['event.undo', 'u', 'undo this change (shows it first)', 'undo this'],
  ['event.follow', 'f', 'stay at the newest', 'follow'],
  ['event.pane', 'o', 'events, audit, storage', 'events/audit/storage'],
])

const EVERYWHERE = bindings('everywhere', [
  ['move.down', 'j down', 'down'],
  ['move.up', 'k up', 'up'],
  ['move.left', 'h left', 'left'],
  ['move.right', 'l right', 'right'],
  ['move.pageDown', 'pgdn', 'a page down'],
  ['move.pageUp', 'pgup', 'a page up'],
  ['move.halfDown', 'C-d', 'half a page down'],
  ['move.halfUp', 'C-u', 'half a page up'],
  ['move.first', 'g home', 'first row'],
  ['move.last', 'G end', 'last row'],
  ['move.firstColumn', '0', 'first worker'],
  ['move.lastColumn', '$', 'last worker'],
  ['filter', '/', 'filter', 'filter'],
  ['palette', ':', 'type any command of the CLI', 'command'],
  ['screen.1', '1', 'placement'],
  ['screen.2', '2', 'workers'],
  ['screen.3', '3', 'requests'],
  ['screen.4', '4', 'models'],
  ['screen.5', '5', 'tenants'],
  ['screen.6', '6', 'events'],
  ['screen.next', 'tab', 'next screen'],
  ['screen.previous', 'S-tab', 'previous screen'],
  ['back', 'esc', 'close, clear marks, clear filter, go back; never quits'],
  ['filter.next', 'n', 'next match'],
  ['filter.previous', 'N', 'previous match'],
  ['sort', 's', 'sort by'],
  ['sort.reverse', 'S', 'reverse the order'],
  ['undo', 'u', 'undo my last change, else the last of anyone (asks)'],
  ['copy', 'y', 'copy the name, through the terminal (OSC 52)'],
  ['pause', 'p', 'pause the picture'],
  ['refresh', 'r', 'newest picture now; connect again now'],
  ['rate.up', '+', 'faster pictures, at most 4 a second'],
  ['rate.down', '-', 'slower pictures'],
  ['redraw', 'C-l', 'draw the screen again'],
  ['suspend', 'C-z', 'suspend; `fg` returns'],
  ['quit', 'q C-c', 'quit; the gateway keeps serving'],
  ['help', '?', 'help', 'help'],
])

/** In the order of the key bar; `? help` comes last. */
export const KEYMAP: readonly Binding[] = [
  ...PLACEMENT,
  ...WORKERS,
  ...RULESET,
  ...REQUESTS,
  ...MODELS,
  ...TENANTS,
  ...EVENTS,
  ...EVERYWHERE,
]
