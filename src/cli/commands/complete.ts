// `ogw __complete -- WORD…`: what could stand in place of the last word, one `value TAB meaning` a
// line, for the completion scripts. It never fails and never speaks: a shell would show it.

import { Command } from 'commander'
import { type Expected, type Kind, readLine } from '../completion.ts'
import { connect } from '../connect.ts'
import type { CliContext } from '../context.ts'
import { readContexts } from '../context-store.ts'
import { buildProgram } from '../program.ts'

export function completeCommand(context: CliContext): Command {
  return new Command('__complete')
    .description('print what could stand in place of the last word')
    .argument('[word...]', 'the command line after `ogw`')
    .action(async (typed: string[]) => {
      const words = typed.map(unquoted)
      // Whatever goes wrong, a Tab is no place to say so.
      const lines = await complete(context, words).catch(() => [])
      context.io.stdout.write(lines.map((line) => `${line}\n`).join(''))
    })
}

/** Some shells hand over a word with its quotes, also with one that is not closed yet. */
function unquoted(word: string): string {
  const [, quote, text] = /^(["'])(.*)$/s.exec(word) ?? []
  if (quote === undefined || text === undefined) return word
  return text.endsWith(quote) ? text.slice(0, -1) : text
}

async function complete(context: CliContext, words: readonly string[]): Promise<string[]> {
  const current = words.at(-1) ?? ''
  const { program } = await buildProgram(context.io, words.slice(0, -1))
  const expected = readLine(program, words)
  const names = await namesOf(context, expected)
  const taken = new Set(expected.taken)
  return [
    ...expected.words.map(({ value, meaning }) => `${value}\t${meaning}`),
    ...names.filter((name) => !taken.has(name)),
  ]
    .filter((line) => line.startsWith(current))
    .concat(expected.kind === 'file' ? [':file'] : [])
}

/** A Tab must not hang: a gateway that does not answer by then completes nothing. */
const NAMES_TIMEOUT_MS = 1500

async function namesOf({ io }: CliContext, expected: Expected): Promise<string[]> {
  const { kind, socket, context } = expected
  try {
    if (kind === 'context') return plain([...readContexts(io.env).contexts.keys()])
    if (kind !== 'worker' && kind !== 'model') return []
    const admin = connect(io, { socket, context })
    try {
      const signal = AbortSignal.timeout(NAMES_TIMEOUT_MS)
      return plain(byKind(kind, await admin.call('names', {}, { signal })))
    } finally {
      admin.close()
    }
  } catch {
    // No gateway, no names: silence is the right answer to a Tab.
    return []
  }
}

function byKind(kind: Kind, names: { workers: string[]; models: string[] }): string[] {
  return kind === 'worker' ? names.workers : names.models
}

/** Only names that a shell takes as they are; a stranger's `$(…)` is never offered. */
function plain(names: readonly string[]): string[] {
  return names.filter((name) => /^[\p{L}\p{N}._:/@+-]+$/u.test(name) && !name.startsWith('-'))
}
