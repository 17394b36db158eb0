// What is drawn when there is no fleet to draw: connecting, no gateway, no permission, a terminal
// that is too small.

import { SMALLEST } from '../layout.ts'
import { sanitise, wrapWords } from '../present/text.ts'
import type { Link } from '../store.ts'
import { type Line, lineOf } from '../theme.ts'
import { fillRows, type View } from '../view.ts'

export function tooSmallFrame(columns: number, rows: number): Line[] {
  const { columns: wide, rows: high } = SMALLEST
  return fillRows(
    [
      [],
      lineOf(` ogw needs at least ${wide}x${high}, this is ${columns}x${rows}.`),
      lineOf(' Enlarge the window, or: ogw status'),
    ],
    rows,
  )
}

export function withoutFleet({ feed, layout, mono }: View): Line[] {
  return fillRows(linesFor(feed.link, { mono, columns: layout.columns }), layout.body)
}

function linesFor(link: Link, { mono, columns }: { mono: number; columns: number }): Line[] {
  if (link.kind !== 'lost') {
    const waited = link.kind === 'connecting' ? mono - link.since : 0
    const text = waited >= 1_000 ? `  (${Math.floor(waited / 1000)}s)` : ''
    return [[], lineOf(`      connecting to the gateway…${text}`)]
  }
  return [
    [],
    lineOf(`   ${TITLE[link.reason]}`, 'bold'),
    [],
    // A path is not broken.
    ...wrapWords(sanitise(link.message), columns - 6).map((one) => lineOf(`   ${one}`)),
    [],
    ...advice(link.reason),
  ]
}

type Lost = Extract<Link, { kind: 'lost' }>

const TITLE: Readonly<Record<Lost['reason'], string>> = {
  missing: 'There is no gateway at this socket.',
  denied: 'You may not use the admin socket.',
  refused: 'The gateway is not running any more: its socket is left over.',
  silent: 'The gateway holds the connection but says nothing.',
  broken: 'The connection to the gateway broke.',
}

function advice(reason: Lost['reason']): Line[] {
  if (reason === 'denied') {
    return [
      lineOf('     be in its group   sudo usermod -aG ogw "$USER"   and log in again'),
      lineOf('     or                sudo ogw tui'),
      ...KEYS,
    ]
  }
  return [
    lineOf('     start it        ogw serve          (or: systemctl start ogw)'),
    lineOf('     other socket    ogw tui --socket PATH   or OGW_SOCKET=PATH'),
    lineOf('     check           ogw doctor'),
    ...KEYS,
  ]
}

const KEYS: readonly Line[] = [[], lineOf('   r retry now   q quit')]
