// Loading, unloading, pulling; the copies of a model; where a request would run.

import type { ModelRow, PullProgress } from '../../gateway/contract/schema/models.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import type { Console } from '../console.ts'
import { confirm, mayForce, sayBusy, sayFailure } from '../operate.ts'
import { explanationInShort } from '../present/gateway.ts'
import { presentCopies, presentModel } from '../present/models.ts'
import { presentExplanation } from '../present/requests.ts'
import { sanitise } from '../present/text.ts'
import { bytes, percent } from '../present/units.ts'
import { CAPABILITIES } from '../screens/models.ts'
import { runningOn } from '../screens/matrix-frame.ts'
import type { MenuItem } from '../state.ts'
import { lineOf } from '../theme.ts'
import { tableLines } from '../table-text.ts'
import { quoted } from './placement.ts'
import { cellUnderCursor, modelUnderCursor } from './target.ts'
import { factLines, sayOutcomes } from './say.ts'

interface Load {
  verb: 'load' | 'unload'
  model: string
  worker: string | undefined
  force?: boolean
}

/** Here where the cursor is on a cell; elsewhere it asks on which worker. */
export function loadHere(console: Console): void {
  const view = console.fleet()
  if (view === undefined) return
  const target = cellUnderCursor(view)
  if (target !== undefined) {
    const { row, worker, cell } = target
    const verb = cell.presence === 'loaded' ? 'unload' : 'load'
    start(console, { verb, model: row.model, worker: worker.name })
    return
  }
  const row = modelUnderCursor(view)
  if (row !== undefined) pickWorker(console, row)
}

/** An unload under running requests would break them off: that is asked for. */
function start(console: Console, load: Load): void {
  const { verb, model, worker } = load
  const snapshot = console.store.snapshot
  const running =
    snapshot === undefined || worker === undefined ? 0 : runningOn(snapshot, worker, model)
  if (verb === 'load' || running === 0) {
    void run(console, load)
    return
  }
  confirm(console, {
    title: `unload ${model} on ${worker}?`,
    lines: [`${running} of its requests run there now.`],
    yes: 'unload anyway',
    onYes: () => void run(console, load),
  })
}

async function run(console: Console, load: Load): Promise<void> {
  const { verb, model, worker, force } = load
  const where = worker === undefined ? '' : ` on ${worker}`
  const cancel = sayBusy(console, `${verb}ing ${model}${where}`)
  try {
    const outcomes = await console.admin.call(`models.${verb}`, {
      model,
      ...(worker !== undefined && { workers: [worker] }),
      ...(force === true && { force }),
    })
    const place = worker === undefined ? '' : ` --worker ${quoted(worker)}`
    sayOutcomes(console, outcomes, `models ${verb} ${quoted(model)}${place}`)
  } catch (error) {
    if (!mayForce(error)) {
      sayFailure(console, error)
      return
    }
    confirm(console, {
      title: `${verb} ${model}${where}?`,
      lines: [error.message],
      yes: `${verb} anyway`,
      onYes: () => void run(console, { ...load, force: true }),
    })
  } finally {
    cancel()
  }
}

const KEYS = '123456789abcdefghijklmnopqrstuvwxyz'

function menu(console: Console, title: string, items: readonly Omit<MenuItem, 'key'>[]): void {
  const keyed = items.map((item, index) => ({ ...item, key: KEYS[index] ?? '' }))
  console.open({ kind: 'menu', title, items: keyed, index: 0 })
}

function pickWorker(console: Console, row: ModelRow): void {
  menu(console, sanitise(`load or unload ${row.model}`), [
    {
      label: 'load where the selection prefers',
      run: () => start(console, { verb: 'load', model: row.model, worker: undefined }),
    },
    ...row.cells
      .filter(
        ({ presence, state }) =>
          presence === 'loaded' || (presence === 'installed' && state !== 'blocked'),
      )
      .map(({ worker, presence }) => {
        const verb = presence === 'loaded' ? ('unload' as const) : ('load' as const)
        return {
          label: `${verb} on ${sanitise(worker)}`,
          run: () => start(console, { verb, model: row.model, worker }),
        }
      }),
  ])
}

/** For the workers screen: what is loaded there, and a prompt for what is not. */
export function openLoaded(console: Console, worker: WorkerRow): void {
  menu(console, sanitise(`models on ${worker.name}`), [
    {
      label: 'load a model…',
      run: () =>
        console.ask({
          kind: 'text',
          label: 'load ',
          hint: `on ${sanitise(worker.name)}`,
          complete: async (text) => installedNames(console, worker.name, text),
          onSubmit: (model) => {
            if (model.trim() !== '')
              start(console, { verb: 'load', model: model.trim(), worker: worker.name })
          },
        }),
    },
    ...worker.loaded.map(({ model, size_vram_bytes: size }) => ({
      label: `unload ${sanitise(model)} (${bytes(size)})`,
      run: () => start(console, { verb: 'unload', model, worker: worker.name }),
    })),
  ])
}

function installedNames(console: Console, worker: string, text: string): string[] {
  const models = console.store.snapshot?.models ?? []
  return models
    .filter(
      ({ model, copies }) =>
        model.startsWith(text) && copies.some((copy) => copy.worker === worker),
    )
    .map(({ model }) => model)
}

export function showModel(console: Console): void {
  const view = console.fleet()
  const row = view === undefined ? undefined : modelUnderCursor(view)
  if (view === undefined || row === undefined) return
  console.open({
    kind: 'text',
    title: sanitise(row.model),
    lines: [...factLines(presentModel(row)), [], ...tableLines(presentCopies(row, view.wall))],
    top: 0,
  })
}

export function explainModel(console: Console): void {
  const view = console.fleet()
  const row = view === undefined ? undefined : modelUnderCursor(view)
  if (row === undefined) return
  console.admin.call('explain', { model: row.model }).then(
    (explained) =>
      console.open({
        kind: 'text',
        title: sanitise(`a request for ${row.model} now`),
        lines: [
          lineOf(explanationInShort(explained), 'bold'),
          [],
          ...tableLines(presentExplanation(explained)),
        ],
        top: 0,
        hint: `$ ogw explain ${sanitise(quoted(row.model))} · `,
      }),
    (error: unknown) => sayFailure(console, error),
  )
}

export function askPull(console: Console): void {
  const view = console.fleet()
  const row = view === undefined ? undefined : modelUnderCursor(view)
  console.ask({
    kind: 'text',
    label: 'pull ',
    text: row?.model ?? '',
    hint: 'MODEL [WORKER…]; without workers: all that are up and may run it',
    onSubmit: (text) => {
      const [model = '', ...workers] = text.split(/\s+/).filter((word) => word !== '')
      if (model !== '') void pull(console, model, workers)
    },
  })
}

/** Goes on while the operator does something else; its progress is in the message line. */
async function pull(console: Console, model: string, workers: readonly string[]): Promise<void> {
  const progress = new Map<string, PullProgress>()
  const input = { model, ...(workers.length > 0 && { workers: [...workers] }) }
  try {
    for await (const line of console.admin.stream('models.pull', input, console.closing.signal)) {
      progress.set(line.worker, line)
      console.say(
        'busy',
        `pulling ${model}: ${[...progress.values()].map(progressInWords).join(' · ')}`,
      )
    }
    const failed = [...progress.values()].filter(({ error }) => error !== null)
    if (failed.length > 0) {
      console.say(
        'error',
        `pull ${model}: ${failed.map(({ worker, error }) => `${worker}: ${error ?? ''}`).join('; ')}`,
      )
    } else {
      console.say('done', `pulled ${model} · $ ogw models pull ${quoted(model)}`)
    }
  } catch (error) {
    if (!console.closing.signal.aborted) sayFailure(console, error)
  }
}

function progressInWords({
  worker,
  status,
  completed_bytes: done,
  total_bytes: total,
}: PullProgress): string {
  const share = done === null || total === null || total === 0 ? status : percent(done / total)
  return `${worker} ${share}`
}

export function pickCapability(console: Console): void {
  menu(console, 'only models with', [
    { label: 'any capability', run: () => console.update({ capability: '' }) },
    ...CAPABILITIES.map((capability) => ({
      label: capability,
      run: () => console.update({ capability }),
    })),
  ])
}

export { menu as openMenu }
