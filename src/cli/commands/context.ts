// `ogw context`: names for gateways, so that `--context box` says which one. Kept by
// context-store.ts; nothing here asks a gateway.

import { Command } from 'commander'
import { foreign, cell, type TableView } from '../../tui/present/cell.ts'
import { sanitise } from '../../tui/present/text.ts'
import type { CliContext } from '../context.ts'
import { type Contexts, readContexts, writeContexts } from '../context-store.ts'
import { CliError } from '../exit-codes.ts'
import { addExamples } from '../options.ts'
import { parseTarget } from '../target.ts'

export function contextCommand(context: CliContext): Command {
  const command = new Command('context').description('name gateways on this and other machines')
  command.addCommand(addCommand(context))
  command.addCommand(listCommand(context))
  command.addCommand(useCommand(context))
  command.addCommand(removeCommand(context))
  return addExamples(command, [
    ['ogw context add box ssh://me@gpu-box', 'a gateway behind ssh'],
    ['ogw context add lab /run/ogw-lab/admin.sock', 'a second one on this machine'],
    ['ogw context use box', 'from now on'],
    ['ogw --context box status', 'once'],
  ])
}

interface ContextRow {
  name: string
  target: string
  current: boolean
}

function rowsOf({ current, contexts }: Contexts): ContextRow[] {
  return [...contexts].map(([name, target]) => ({ name, target, current: name === current }))
}

function addCommand(context: CliContext): Command {
  const add = new Command('add')
    .description('save a name for a gateway; the same name again replaces it')
    .argument('<name>', 'letters, digits, "." "-" "_"')
    .argument('<target>', 'path of an admin socket, or ssh://user@host[:port]')
    .action(async (name: string, target: string) => {
      if (!/^[\p{L}\p{N}._-]{1,63}$/u.test(name)) {
        throw new CliError(
          'usage',
          `"${name}" is no name for a context: letters, digits, "." "-" "_", at most 63`,
        )
      }
      parseTarget(target)
      const saved = readContexts(context.io.env)
      const contexts = new Map(saved.contexts).set(name, target)
      await writeContexts(context.io.env, { ...saved, contexts })
      context.print({ name, target, current: name === saved.current }, () =>
        sanitise(`${name} is ${target}; \`ogw context use ${name}\` makes it the default`),
      )
    })
  return addExamples(add, [
    ['ogw context add box ssh://me@gpu-box:2222', 'runs `ogw admin-proxy` there'],
  ])
}

function listCommand(context: CliContext): Command {
  const list = new Command('list').description('list the saved names').action(() => {
    const rows = rowsOf(readContexts(context.io.env))
    context.print(rows, () => presentContexts(rows))
  })
  return addExamples(list, [['ogw context list', '* marks the default']])
}

function presentContexts(rows: readonly ContextRow[]): TableView {
  return {
    columns: [{ header: 'CURRENT' }, { header: 'NAME' }, { header: 'TARGET' }],
    rows: rows.map(({ name, target, current }) => [
      cell(current ? '*' : ''),
      foreign(name),
      foreign(target),
    ]),
  }
}

function useCommand(context: CliContext): Command {
  const use = new Command('use')
    .description('make a saved gateway the default; without a name, none')
    .argument('[name]', 'as in `ogw context list`')
    .action(async (name: string | undefined) => {
      const saved = readContexts(context.io.env)
      if (name !== undefined) requireContext(saved, name)
      await writeContexts(context.io.env, { ...saved, current: name })
      context.print({ current: name ?? null }, () =>
        name === undefined
          ? 'commands use the gateway of this machine'
          : sanitise(`commands use ${name}, ${saved.contexts.get(name) ?? ''}`),
      )
    })
  return addExamples(use, [
    ['ogw context use box', 'until changed'],
    ['ogw context use', 'back to the gateway of this machine'],
  ])
}

function removeCommand(context: CliContext): Command {
  const remove = new Command('remove')
    .description('forget a saved name')
    .argument('<name>', 'as in `ogw context list`')
    .action(async (name: string) => {
      const saved = readContexts(context.io.env)
      requireContext(saved, name)
      const contexts = new Map(saved.contexts)
      contexts.delete(name)
      const current = saved.current === name ? undefined : saved.current
      await writeContexts(context.io.env, { current, contexts })
      context.print({ name, removed: true }, () => sanitise(`${name} is forgotten`))
    })
  return addExamples(remove, [['ogw context remove box', 'the gateway itself is not touched']])
}

function requireContext({ contexts }: Contexts, name: string): void {
  if (contexts.has(name)) return
  const known = [...contexts.keys()]
  throw new CliError('notFound', `there is no context "${name}"`, {
    details: [known.length === 0 ? 'none is saved yet' : `there are ${known.join(', ')}`],
  })
}
