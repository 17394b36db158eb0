// The palette takes what the CLI takes and runs the same commands.

import type { Console } from '../console.ts'
import { sanitise } from '../present/text.ts'
import type { Line } from '../theme.ts'
import { showSecret } from './tenant-keys.ts'
import { lineOf } from '../theme.ts'

/** Commands that would fill this terminal or never end: here they make no sense. */
const REFUSED: Readonly<Record<string, string>> = {
  tui: 'this is the console already',
  serve: 'a gateway is started from a shell',
  demo: 'a demo is started from a shell',
  'simulate-worker': 'a simulated worker is started from a shell',
  'admin-proxy': 'it is for ssh, not for people',
}
const ENDLESS = new Set(['-f', '--follow', '-w', '--watch'])

let history: readonly string[] = []
const HISTORY_KEPT = 100

export function askPalette(console: Console): void {
  console.ask({
    kind: 'palette',
    label: ':',
    hint: 'Tab completes, Enter runs',
    history,
    at: history.length,
    complete: async (text) => console.commands.complete(splitWords(text, true)),
    onSubmit: (text) => {
      if (text.trim() !== '') void runLine(console, text)
    },
  })
}

async function runLine(console: Console, text: string): Promise<void> {
  history = [...history.filter((one) => one !== text), text].slice(-HISTORY_KEPT)
  const words = splitWords(text, false)
  if (words[0] === 'ogw') words.shift()
  const refused = REFUSED[words[0] ?? '']
  if (words[0] === 'q' || words[0] === 'quit') {
    console.terminal.quit()
    return
  }
  if (refused !== undefined || words.some((word) => ENDLESS.has(word))) {
    console.say('note', refused ?? 'following is what the screens do: leave the option out')
    return
  }
  console.say('busy', `${words.join(' ')}…`)
  const { code, out, err } = await console.commands.run(words, console.closing.signal)
  showResult(console, words.join(' '), { code, out: out.trimEnd(), err: err.trimEnd() })
}

function showResult(
  console: Console,
  title: string,
  { code, out, err }: { code: number; out: string; err: string },
): void {
  const text = out === '' ? err : out
  const tone = code === 0 ? 'done' : 'error'
  if (code === 0 && isSecret(title) && !text.includes('\n')) {
    console.update({ message: undefined })
    showSecret(console, 'a new key', text)
    return
  }
  if (!text.includes('\n')) {
    console.say(tone, text === '' ? `${title}: done` : text.replace(/^error: /, ''))
    return
  }
  console.update({ message: undefined })
  const lines: Line[] = text.split('\n').map((one) => lineOf(sanitise(one)))
  console.open({ kind: 'text', title: sanitise(title), lines, top: 0 })
}

/** A message line is gone with the next key, and may not hold a key at all. */
function isSecret(line: string): boolean {
  const words = line.split(' ')
  return words.includes('keys') && words.includes('create')
}

/** As a shell splits: blanks part words, quotes hold them together. */
function splitWords(text: string, forCompletion: boolean): string[] {
  const words: string[] = []
  for (const [, double, single, plain] of text.matchAll(/"([^"]*)"?|'([^']*)'?|([^\s"']+)/g)) {
    words.push(double ?? single ?? plain ?? '')
  }
  if (forCompletion && (text === '' || /\s$/.test(text))) words.push('')
  return words
}
