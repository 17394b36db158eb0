// `ogw requests`: what runs, waits and just ended, why it went where it went, and how to end it.

import { Command } from 'commander'
import {
  presentDecision,
  presentRequest,
  presentRequests,
  type RequestDetail,
} from '../../tui/present/requests.ts'
import { sanitise } from '../../tui/present/text.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import { printOrFollow } from '../follow.ts'
import { addExamples, addWatchOption } from '../options.ts'
import { type Look, renderFacts, renderTable } from '../table.ts'

export function requestsCommand(context: CliContext): Command {
  const requests = new Command('requests').description('see and cancel requests')
  requests.addCommand(listCommand(context))
  requests.addCommand(showCommand(context))
  requests.addCommand(cancelCommand(context))
  return addExamples(requests, [
    ['ogw requests', 'what runs, waits and just ended'],
    ['ogw requests show ID', 'why it went where it went'],
    ['ogw requests cancel ID', 'end it; the worker stops too'],
  ])
}

function listCommand(context: CliContext): Command {
  const list = new Command('list').description('list requests that run, wait or just ended')
  addWatchOption(list).action(async (flags: { watch?: boolean }) => {
    await printOrFollow(context, flags.watch === true, {
      read: () => context.admin().call('requests.list', {}),
      human: (rows) => () => presentRequests(rows),
    })
  })
  return addExamples(list, [['ogw requests list --watch', 'again after each change']])
}

function showCommand(context: CliContext): Command {
  const show = new Command('show')
    .description('show one request and every decision made for it')
    .argument('<id>', 'as in `ogw requests`, or the header x-request-id')
    .action(async (id: string) => {
      const row = await context.admin().call('requests.show', { id })
      context.print(row, (look) => requestInWords(row, look))
    })
  return addExamples(show, [['ogw requests show ID --json | jq .decisions', 'for a script']])
}

function requestInWords(row: RequestDetail, look: Look): string {
  const decisions = row.decisions.map((decision) => {
    const where = decision.worker === null ? '' : ` ${decision.worker}`
    const title = sanitise(`${decision.at} ${decision.outcome}${where}`)
    return `\n${title}\n${renderTable(presentDecision(decision), look)}`
  })
  return renderFacts(presentRequest(row), look) + decisions.join('')
}

function cancelCommand(context: CliContext): Command {
  const cancel = new Command('cancel')
    .description('end one request')
    .argument('<id>', 'as in `ogw requests`')
    .action(async (id: string) => {
      const outcome = await context.admin().call('requests.cancel', { id })
      if (!outcome.cancelled) throw new CliError('refused', outcome.message)
      context.print(outcome, () => sanitise(outcome.message))
    })
  return addExamples(cancel, [['ogw requests cancel ID', 'the client is told who ended it']])
}
