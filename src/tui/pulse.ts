// What happens to the picture without a key and without news of the fleet: ages grow, a gateway
// comes back. Seconds are counted only where seconds are shown.

import type { Snapshot } from '../gateway/contract/schema/snapshot.ts'
import type { Console } from './console.ts'
import { duration } from './present/units.ts'
import { isRunning } from './screens/requests.ts'
import { familyOf } from './screens/matrix-items.ts'
import type { ConsoleState, Link } from './store.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

export interface PulseOptions {
  /** Says in the message line what a screen reader cannot see at the top. */
  tellLink: boolean
}

/** Returns how to end it. */
export function startPulse(console: Console, { tellLink }: PulseOptions): () => void {
  const { store } = console
  let before = store.getState()
  let lost: Lost | undefined
  const unsubscribe = store.subscribe(() => {
    const now = store.getState()
    const first = before.feed.snapshot === undefined && now.feed.snapshot !== undefined
    const linkChanged = before.feed.link !== now.feed.link
    lost ??= lostOf(now)
    before = now
    if (first) foldLargeFleet(console)
    if (linkChanged && tellLink) tellInWords(console, now.feed.link)
    const hasNews = lost !== undefined && now.feed.snapshot !== lost.snapshot
    if (lost !== undefined && now.feed.link.kind === 'live' && hasNews) {
      const { since, snapshot } = lost
      lost = undefined
      console.forgetAcked()
      sayReturn(console, store.clock.mono() - since, snapshot.placement.revision)
    }
  })
  const cancel = tickWhileNeeded(console)
  return () => {
    unsubscribe()
    cancel()
  }
}

interface Lost {
  since: number
  /** The last picture before. */
  snapshot: Snapshot
}

function lostOf({ feed }: ConsoleState): Lost | undefined {
  if (feed.link.kind !== 'lost' || feed.snapshot === undefined) return undefined
  return { since: feed.link.since, snapshot: feed.snapshot }
}

function sayReturn(console: Console, awayMs: number, revision: number): void {
  const now = console.store.snapshot?.placement.revision ?? revision
  const changed =
    now === revision ? '' : `; placement went from rev ${revision} to ${now} (6 tells who)`
  console.say('note', `the gateway is back after ${duration(wholeSeconds(awayMs))}${changed}`)
}

const wholeSeconds = (ms: number): number =>
  Math.max(SECOND_MS, Math.round(ms / SECOND_MS) * SECOND_MS)

function tellInWords(console: Console, link: Link): void {
  if (link.kind === 'lost') console.say('error', `gateway lost: ${link.message}`)
  if (link.kind === 'stale') console.say('error', 'the gateway is silent; what is shown is old')
}

/** A fleet of many models begins with its families folded, but for the first. */
function foldLargeFleet(console: Console): void {
  const view = console.fleet()
  if (view === undefined || view.snapshot.models.length <= view.layout.body * 2) return
  const first = view.snapshot.models[0]?.model
  if (first === undefined) return
  console.updateMatrix({ foldAll: true, folds: new Map([[familyOf(first), false]]) })
}

function tickWhileNeeded(console: Console): () => void {
  const { clock } = console.store
  let cancel = (): void => {}
  let minute = Math.floor(clock.now() / MINUTE_MS)
  const look = (): void => {
    const thisMinute = Math.floor(clock.now() / MINUTE_MS)
    if (showsSeconds(console.store.getState()) || thisMinute !== minute) console.store.tick()
    minute = thisMinute
    cancel = clock.after(SECOND_MS, look)
  }
  cancel = clock.after(SECOND_MS, look)
  return () => cancel()
}

/** Seconds are shown while the gateway is silent or gone, and beside requests that run. */
function showsSeconds({ feed, ui }: ConsoleState): boolean {
  if (feed.link.kind !== 'live') return true
  if (ui.paused || ui.screen !== 'requests') return false
  return feed.snapshot?.requests.some(isRunning) ?? false
}
