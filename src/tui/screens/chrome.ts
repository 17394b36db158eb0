// The rows around every screen: who and how alive, the fleet in one line, the tabs, the message,
// the keys.

import type { Snapshot } from '../../gateway/contract/schema/snapshot.ts'
import { keyContextOf } from '../context.ts'
import { type ActionId, barOf, type Binding, keyName } from '../keymap.ts'
import { sparkline } from '../present/bars.ts'
import { sanitise, width } from '../present/text.ts'
import { count, duration, percent } from '../present/units.ts'
import { speedByWorker } from '../samples.ts'
import { SCREENS, type ScreenId } from '../state.ts'
import {
  type Line,
  lineOf,
  lineWidth,
  restyle,
  type Span,
  span,
  spread,
  type Style,
} from '../theme.ts'
import { clockTime, coarseAge, fleetView, type FleetView, gatewayMono, type View } from '../view.ts'

export function identityLine(view: View): Line {
  const { feed, layout, readOnly, ui } = view
  const host = feed.snapshot?.gateway.host
  const left: Span[] = [
    span(` ogw  ${host === undefined ? '…' : sanitise(host)}  `, 'bold'),
    ...linkSpans(view),
  ]
  if (feed.snapshot !== undefined) left.push(span(`  rev ${feed.snapshot.placement.revision}`))
  if (ui.paused) left.push(span('  PAUSED, p goes on', 'warn'))
  const right = [
    readOnly ? 'read-only' : 'RW',
    ...(layout.columns >= 100 && feed.snapshot !== undefined
      ? [`v${sanitise(feed.snapshot.gateway.version)}`, `up ${uptime(view)}`]
      : []),
    clockTime(view.wall, view.zone).slice(0, 5),
  ]
  return spread(left, lineOf(`${right.join('  ')} `), layout.columns)
}

function uptime(view: View): string {
  return coarseAge(gatewayMono(view) - (view.feed.snapshot?.gateway.started_mono ?? 0))
}

function linkSpans({ feed, mono, zone }: View): Span[] {
  const { link } = feed
  const skew = feed.skew === undefined ? [] : [span('  other version', 'warn')]
  switch (link.kind) {
    case 'connecting':
      return [span('◌ connecting')]
    case 'live':
      return [span('● live', 'good'), ...skew]
    case 'stale':
      return [span(`◐ STALE, silent for ${duration(mono - link.since)}`, 'bad')]
    case 'lost': {
      const data =
        feed.snapshot === undefined ? '' : `, last data ${clockTime(feed.receivedWall, zone)}`
      const next = Math.ceil((link.retryAt - mono) / 1000)
      const retry =
        next > 0 ? `retry in ${next}s (${link.attempt})` : `trying again (${link.attempt})`
      const since = duration(Math.floor((mono - link.since) / 1000) * 1000)
      return [span(`✗ disconnected ${since}${data}`, 'bad'), span(`  ${retry}`)]
    }
  }
}

/** `workers 11/12 (1 down)  slots 17/38  queue 4 …`; short words where there is little room. */
export function fleetLine(view: View): Line {
  const fleet = fleetView(view)
  if (fleet === undefined) return []
  const wide = view.layout.columns >= 100
  const parts = [...workersPart(fleet.snapshot, wide), ...trafficParts(fleet, wide)]
  const isStale = view.feed.link.kind !== 'live'
  const line: Line = [span(' '), ...(isStale ? [span('STALE  ', 'bad')] : []), ...joined(parts)]
  return line
}

function joined(parts: readonly Span[]): Span[] {
  return parts.flatMap((part) => [part, span('  ')])
}

function workersPart({ workers, gateway }: Snapshot, wide: boolean): Span[] {
  const up = workers.filter(({ health }) => health === 'up').length
  const down = workers.filter(({ health }) => health === 'down').length
  const style: Style = down > 0 ? 'warn' : 'plain'
  const spans = [
    span(
      `${wide ? 'workers' : 'w'} ${up}/${workers.length}${down > 0 ? ` (${down} down)` : ''}`,
      style,
    ),
    span(`slots ${gateway.slots.used}/${gateway.slots.limit}`),
  ]
  if (gateway.problems.length > 0) {
    spans.push(
      span(`! ${gateway.problems.length} problem${gateway.problems.length > 1 ? 's' : ''}`, 'warn'),
    )
  }
  return spans
}

function trafficParts({ snapshot, samples }: FleetView, wide: boolean): Span[] {
  const { traffic, gateway } = snapshot
  const waiting = gateway.queue.waiting
  const spans = [span(`${wide ? 'queue' : 'q'} ${waiting}`, waiting > 0 ? 'warn' : 'plain')]
  if (traffic.requests_per_s !== null) {
    spans.push(span(`${tenths(traffic.requests_per_s)} ${wide ? 'req/s' : 'r/s'}`))
  }
  const speed = traffic.output_tokens_per_s ?? sum(speedByWorker(snapshot).values())
  const line = sparkline(samples.fleet, wide ? 12 : 8)
  spans.push(span(`${count(speed)} ${wide ? 'tok/s' : 't/s'}${line === '' ? '' : ` ${line}`}`))
  if (traffic.error_ratio !== null) {
    const share = traffic.error_ratio
    const text = share > 0 && share < 0.01 ? `${tenths(share * 100)}%` : percent(share)
    spans.push(span(`err ${text}`, share >= 0.05 ? 'bad' : 'plain'))
  }
  const vram = vramShare(snapshot)
  if (wide && vram !== undefined) spans.push(span(`vram ${percent(vram)}`))
  return spans
}

const tenths = (value: number): string => value.toFixed(1).replace(/\.0$/, '')

const sum = (values: Iterable<number>): number => [...values].reduce((total, one) => total + one, 0)

/** Workers may share a GPU: each counts once. */
function vramShare({ workers }: Snapshot): number | undefined {
  let used = 0
  let total = 0
  const gpus = workers.flatMap(({ telemetry }) => telemetry?.gpus ?? [])
  for (const gpu of new Map(gpus.map((one) => [one.id, one])).values()) {
    const { vram_used_bytes: taken, vram_total_bytes: size } = gpu
    if (taken === null || size === null) continue
    used += taken
    total += size
  }
  return total === 0 ? undefined : used / total
}

const TITLES: Readonly<Record<ScreenId, readonly [string, string]>> = {
  placement: ['Placement', 'Plac'],
  workers: ['Workers', 'Work'],
  requests: ['Requests', 'Reqs'],
  models: ['Models', 'Mods'],
  tenants: ['Tenants', 'Tens'],
  events: ['Events', 'Evts'],
}

export const titleOf = (screen: ScreenId): string => TITLES[screen][0]

export function tabsLine({ ui, layout }: View, corner: Line): Line {
  const wide = layout.columns >= 100
  const tabs = SCREENS.map((screen, index) => {
    const title = `${index + 1} ${TITLES[screen][wide ? 0 : 1]}`
    return screen === ui.screen ? span(`[${title}]`, 'bold') : span(` ${title} `)
  })
  return spread(tabs, corner, layout.columns)
}

const MARK = {
  done: { sign: '✓', ascii: 'ok', style: 'good' },
  note: { sign: '!', ascii: '!', style: 'warn' },
  error: { sign: '✗', ascii: 'x', style: 'bad' },
  busy: { sign: '~', ascii: '~', style: 'dim' },
} as const

export function messageLine(view: View): Line {
  const { ui, theme, layout } = view
  if (ui.prompt !== undefined) return promptLine(view)
  if (ui.message === undefined) return []
  const { tone, at, text } = ui.message
  const { sign, ascii, style } = MARK[tone]
  const shown = layout.columns < 100 ? ` ${text}` : ` ${clockTime(at, view.zone)} ${text}`
  return [
    span(` ${theme.ascii ? ascii : sign}`, style),
    span(shown, tone === 'error' ? 'bad' : 'plain'),
  ]
}

/** The caret is drawn, because the terminal's own cursor is hidden. */
function promptLine({ ui, layout }: View): Line {
  const { prompt } = ui
  if (prompt === undefined) return []
  const letters = [...new Intl.Segmenter().segment(prompt.text)].map(({ segment }) => segment)
  const before = letters.slice(0, prompt.caret).join('')
  const at = letters[prompt.caret] ?? ' '
  const after = letters.slice(prompt.caret + 1).join('')
  const label = ` ${prompt.label}`
  // A long line shows its end, where the caret usually is.
  const room = Math.max(10, layout.columns - width(label) - 2)
  const visible =
    width(before) < room
      ? before
      : `…${letters
          .slice(0, prompt.caret)
          .slice(2 - room)
          .join('')}`
  return [
    span(label, 'bold'),
    span(visible),
    span(at, 'cursor'),
    span(after),
    span(prompt.hint === '' ? '' : `   ${prompt.hint}`, 'dim'),
  ]
}

/** As many keys as fit; those that are always at hand stay at the end. */
export function keyBar(view: View): Line {
  const { ui, layout } = view
  const open = ui.overlays.at(-1)?.kind ?? (ui.prompt === undefined ? undefined : 'prompt')
  if (open !== undefined) return lineOf(` ${OPEN_KEYS[open]}`, 'dim')
  const bindings = barOf(keyContextOf(ui))
  const kept = ui.draft !== undefined ? HELP : layout.columns < 100 ? NARROW_LAST : LAST
  const last = bindings.filter(({ id }) => kept.has(id))
  const spans: Span[] = [span(' hjkl move', 'dim')]
  let room = layout.columns - 12 - barWidth(last)
  for (const binding of bindings.filter(({ id }) => !LAST.has(id))) {
    room -= barWidth([binding])
    if (room < 0) break
    spans.push(...barSpans(binding))
  }
  return [...spans, ...last.flatMap(barSpans)]
}

const LAST: ReadonlySet<ActionId> = new Set<ActionId>(['filter', 'palette', 'help'])
const HELP: ReadonlySet<ActionId> = new Set<ActionId>(['help'])
const NARROW_LAST: ReadonlySet<ActionId> = new Set<ActionId>(['filter', 'help'])

const OPEN_KEYS = {
  help: 'type to filter  ↑ ↓ PgUp PgDn scroll  Esc closes',
  text: 'j k scroll  Esc closes',
  menu: 'j k move  Enter or its key chooses  Esc closes',
  confirm: 'Tab other button  Enter presses it  y yes  Esc cancels',
  form: 'Tab next field  Space ticks  Ctrl-S applies  Esc cancels',
  secret: 'y copies it  Esc closes',
  prompt: 'Enter accepts  Tab completes  ↑ ↓ earlier lines  Esc goes back',
} as const

function barSpans({ keys, bar = '' }: Binding): Span[] {
  return [span('  '), span(keyName(keys[0] ?? ''), 'bold'), span(` ${bar}`, 'dim')]
}

function barWidth(bindings: readonly Binding[]): number {
  return bindings.reduce((cells, one) => cells + lineWidth(barSpans(one)), 0)
}

export function ruleLine(columns: number): Line {
  return lineOf('─'.repeat(columns), 'dim')
}

/** The last picture of a gateway that does not answer is dim throughout. */
export function dimIfStale(view: View, lines: readonly Line[]): readonly Line[] {
  if (view.feed.link.kind === 'live') return lines
  return lines.map((line) => restyle(line, 'dim'))
}
