// The rules of one worker as a draft, and making it real.

import { spawnSync } from 'node:child_process'
import type { SpawnSyncReturns } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AdminError } from '../../gateway/contract/faults.ts'
import type { PlacementRules } from '../../gateway/contract/schema/common.ts'
import type { Console } from '../console.ts'
import { changePlacement } from '../operate.ts'
import { listRules, type RuleView } from '../present/rules.ts'
import { isDirty } from '../screens/ruleset.ts'
import type { Draft } from '../state.ts'
import { quoted } from './placement.ts'
import { workerUnderCursor } from './target.ts'

export function openRuleset(console: Console): void {
  const view = console.fleet()
  const worker = view === undefined ? undefined : workerUnderCursor(view)
  if (view === undefined || worker === undefined) return
  const { mode, allowed_models: allowed, denied_models: denied } = worker.placement
  const rules: PlacementRules = { mode, allowed_models: [...allowed], denied_models: [...denied] }
  if (view.ui.screen !== 'workers') {
    console.update({ screen: 'workers', trail: [...view.ui.trail, view.ui.screen].slice(-6) })
    console.updateScreen({ row: worker.name }, 'workers')
  }
  console.update({
    draft: {
      worker: worker.name,
      rules,
      before: rules,
      revision: Math.max(view.snapshot.placement.revision, console.acked.placement),
      index: 0,
      plan: undefined,
      problem: undefined,
    },
  })
}

export function newRule(console: Console): void {
  console.ask({
    kind: 'text',
    label: 'new deny rule ',
    hint: 'qwen3:8b, or a prefix such as gemma4:*; Space turns it into allow',
    onSubmit: (text) => {
      const pattern = text.trim().toLowerCase()
      if (pattern !== '')
        edit(console, (rules) => withRule(rules, { pattern, verdict: 'deny' }), pattern)
    },
  })
}

export function editRule(console: Console): void {
  const rule = ruleUnderCursor(console)
  if (rule === undefined) return
  console.ask({
    kind: 'text',
    label: `${rule.verdict} `,
    text: rule.pattern,
    onSubmit: (text) => {
      const pattern = text.trim().toLowerCase()
      if (pattern === '') return
      const next = { pattern, verdict: rule.verdict }
      edit(console, (rules) => withRule(withoutRule(rules, rule), next), pattern)
    },
  })
}

export function flipRule(console: Console): void {
  const rule = ruleUnderCursor(console)
  if (rule === undefined) return
  const verdict = rule.verdict === 'allow' ? 'deny' : 'allow'
  edit(console, (rules) => withRule(rules, { pattern: rule.pattern, verdict }), rule.pattern)
}

export function deleteRule(console: Console): void {
  const rule = ruleUnderCursor(console)
  if (rule !== undefined) edit(console, (rules) => withoutRule(rules, rule))
}

export function toggleMode(console: Console): void {
  edit(console, (rules) => ({
    ...rules,
    mode: rules.mode === 'allow_all' ? 'whitelist' : 'allow_all',
  }))
}

export function preset(console: Console, name: 'allow-all' | 'only-installed' | 'block-all'): void {
  const { draft } = console.ui
  const snapshot = console.store.snapshot
  if (draft === undefined || snapshot === undefined) return
  if (name !== 'only-installed') {
    const mode = name === 'allow-all' ? 'allow_all' : 'whitelist'
    edit(console, () => ({ mode, allowed_models: [], denied_models: [] }))
    return
  }
  const worker = snapshot.workers.find((one) => one.name === draft.worker)
  if (worker === undefined || worker.installed === null) {
    console.say('note', 'its inventory was never read: what is installed is not known')
    return
  }
  const installed = snapshot.models
    .filter(({ copies }) => copies.some((copy) => copy.worker === draft.worker))
    .map(({ model }) => model.toLowerCase())
  edit(console, () => ({ mode: 'whitelist', allowed_models: installed, denied_models: [] }))
}

/** The draft becomes what the config says. To drop the override itself is `ogw placement reset`. */
export function resetDraft(console: Console): void {
  const { draft } = console.ui
  const worker = console.store.snapshot?.workers.find(({ name }) => name === draft?.worker)
  if (draft === undefined || worker === undefined) return
  if (worker.placement.layer === 'config' && !isDirty(draft)) {
    console.say('note', 'the config holds already')
    return
  }
  changePlacement(console, {
    name: 'placement.reset',
    input: { workers: [draft.worker] },
    what: `reset ${draft.worker} to the config`,
    twin: `placement reset ${quoted(draft.worker)}`,
    cells: [],
    revision: draft.revision,
    onDone: () => console.update({ draft: undefined }),
  })
}

export function applyDraft(console: Console): void {
  const { draft } = console.ui
  if (draft === undefined) return
  if (!isDirty(draft)) {
    console.say('note', 'the draft changes nothing')
    return
  }
  changePlacement(console, {
    name: 'placement.set',
    input: { overrides: [{ worker: draft.worker, ...draft.rules }] },
    what: `apply the draft for ${draft.worker}`,
    twin: 'placement apply -f FILE',
    cells: [],
    revision: draft.revision,
    onDone: () => console.update({ draft: undefined }),
  })
}

/** Synchronously: a child that runs beside us would have its keys stolen and played back here. */
export function editAsJson(console: Console): void {
  const { draft } = console.ui
  if (draft === undefined) return
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-ruleset-'))
  const file = path.join(folder, `${draft.worker.replaceAll(/[^\w.-]/g, '_')}.json`)
  writeFileSync(file, `${JSON.stringify(draft.rules, null, 2)}\n`)
  // A shell, because what people keep there has options, as in `code --wait`.
  const editor = [console.env['VISUAL'], console.env['EDITOR']].find(Boolean) ?? 'vi'
  let ended: SpawnSyncReturns<Buffer> | undefined
  void console.terminal
    .lend(() => {
      ended = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
    })
    .then(() => {
      if (ended?.status === 0) takeJson(console, file)
      else console.say('error', `${editor} failed: ${endOf(ended)}. Nothing was taken over`)
    })
    .finally(() => rmSync(folder, { recursive: true, force: true }))
}

function endOf(ended: SpawnSyncReturns<Buffer> | undefined): string {
  if (ended?.error !== undefined) return ended.error.message
  return ended?.signal ?? `exit code ${ended?.status ?? 'unknown'}`
}

function takeJson(console: Console, file: string): void {
  try {
    const rules: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (!isRules(rules)) {
      console.say(
        'error',
        'the draft needs mode, allowed_models and denied_models. Nothing was taken over',
      )
      return
    }
    edit(console, () => rules)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    console.say('error', `not JSON: ${why}. Nothing was taken over`)
  }
}

function isRules(value: unknown): value is PlacementRules {
  if (typeof value !== 'object' || value === null) return false
  const { mode, allowed_models: allowed, denied_models: denied } = value as Partial<PlacementRules>
  const texts = (list: unknown): boolean =>
    Array.isArray(list) && list.every((one) => typeof one === 'string')
  return (mode === 'allow_all' || mode === 'whitelist') && texts(allowed) && texts(denied)
}

function ruleUnderCursor({ ui }: Console): RuleView | undefined {
  return ui.draft === undefined ? undefined : listRules(ui.draft.rules)[ui.draft.index]
}

type Rule = Pick<RuleView, 'pattern' | 'verdict'>

function withoutRule(rules: PlacementRules, { pattern }: Pick<Rule, 'pattern'>): PlacementRules {
  const left = (list: readonly string[]): string[] => list.filter((one) => one !== pattern)
  return {
    mode: rules.mode,
    allowed_models: left(rules.allowed_models),
    denied_models: left(rules.denied_models),
  }
}

function withRule(rules: PlacementRules, { pattern, verdict }: Rule): PlacementRules {
  const { mode, allowed_models: allowed, denied_models: denied } = withoutRule(rules, { pattern })
  return verdict === 'allow'
    ? { mode, allowed_models: [...allowed, pattern].toSorted(), denied_models: denied }
    : { mode, allowed_models: allowed, denied_models: [...denied, pattern].toSorted() }
}

/** Changes the draft, keeps the cursor on the rule, and asks what the draft would do. */
function edit(
  console: Console,
  change: (rules: PlacementRules) => PlacementRules,
  on?: string,
): void {
  const { draft } = console.ui
  if (draft === undefined) return
  const rules = change(draft.rules)
  const views = listRules(rules)
  const found = views.findIndex(({ pattern }) => pattern === on)
  const index = found === -1 ? Math.min(draft.index, Math.max(0, views.length - 1)) : found
  const next: Draft = { ...draft, rules, index, plan: undefined, problem: undefined }
  console.update({ draft: next })
  if (isDirty(next)) void plan(console, next)
}

/** An answer for a draft that has moved on is not shown. */
async function plan(console: Console, draft: Draft): Promise<void> {
  const show = (change: Pick<Draft, 'plan' | 'problem'>): void => {
    const now = console.ui.draft
    if (now?.rules === draft.rules) console.update({ draft: { ...now, ...change } })
  }
  try {
    const overrides = [{ worker: draft.worker, ...draft.rules }]
    show({
      plan: await console.admin.call('placement.set', { overrides, dry_run: true }),
      problem: undefined,
    })
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    show({ plan: undefined, problem: error.message })
  }
}
