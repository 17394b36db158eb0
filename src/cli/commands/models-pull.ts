// `ogw models pull`: downloads a model to workers. On a terminal each worker has a bar that moves;
// elsewhere each new state is a line. Both go to stderr: the result alone is data.

import { Command } from 'commander'
import type { PullProgress } from '../../gateway/contract/schema/models.ts'
import { toAscii } from '../../tui/present/glyphs.ts'
import { presentPull } from '../../tui/present/models.ts'
import { sanitise, truncateEnd, width } from '../../tui/present/text.ts'
import { plural } from '../../tui/present/units.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import {
  addChangeOptions,
  addExamples,
  type ChangeFlags,
  changeFields,
  collect,
} from '../options.ts'

interface PullFlags extends ChangeFlags {
  worker?: string[]
  all?: boolean
}

export function pullCommand(context: CliContext): Command {
  const command = new Command('pull')
    .description('download a model to workers; Ctrl-C stops it')
    .argument('<model>', 'as in the registry')
    .option('--worker <name>', 'to there; may be said several times', collect)
    .option('--all', 'to every worker that is up and may run it')
  addChangeOptions(command, 'overrule a guard of the gateway').action(
    async (model: string, flags: PullFlags) => {
      const workers = await targetOf(context, flags)
      const input = { model, ...(workers !== undefined && { workers }), ...changeFields(flags) }
      await pull(context, input)
    },
  )
  return addExamples(command, [
    ['ogw models pull qwen3:8b --worker node-2', 'to one worker'],
    ['ogw models pull qwen3:8b --all', 'to all that may run it'],
  ])
}

/** Undefined = all. A fleet of one needs no target; any other is told, never guessed. */
async function targetOf(context: CliContext, flags: PullFlags): Promise<string[] | undefined> {
  if (flags.worker !== undefined && flags.all === true) {
    throw new CliError('usage', 'say --worker NAME or --all, not both')
  }
  if (flags.worker !== undefined) return flags.worker
  if (flags.all === true) return undefined
  const { workers } = await context.admin().call('names', {})
  if (workers.length === 1) return workers
  throw new CliError('usage', 'say to which workers: --worker NAME, or --all', {
    details: [`there are ${workers.join(', ')}`],
  })
}

interface PullInput {
  model: string
  workers?: string[]
}

async function pull(context: CliContext, input: PullInput): Promise<void> {
  const newest = new Map<string, PullProgress>()
  const screen = progressScreen(context)
  const lines = context.admin().stream('models.pull', input, context.io.interrupted())
  try {
    for await (const progress of lines) {
      newest.set(progress.worker, progress)
      screen.show(newest, progress)
    }
  } finally {
    screen.end(newest)
  }
  const results = [...newest.values()]
  checkResults(results)
  context.print(results, () =>
    results.map(({ worker, status }) => sanitise(`${worker}: ${status}`)).join('\n'),
  )
}

/** An error event is an error, and so is a stream that ended before its worker did. */
function checkResults(results: readonly PullProgress[]): void {
  const failed = results.filter(({ done, error }) => !done || error !== null)
  if (failed.length === 0) return
  throw new CliError(
    'failed',
    `the pull failed on ${failed.length} of ${plural(results.length, 'worker')}`,
    {
      details: failed.map(
        ({ worker, error, status }) => `${worker}: ${error ?? `it stopped at "${status}"`}`,
      ),
    },
  )
}

interface ProgressScreen {
  show(all: ReadonlyMap<string, PullProgress>, newest: PullProgress): void
  /** Draws the last state, which `show` may have left out to save the terminal. */
  end(all: ReadonlyMap<string, PullProgress>): void
}

function progressScreen(context: CliContext): ProgressScreen {
  const { stderr, env } = context.io
  const moves = stderr.isTTY === true && env['TERM'] !== 'dumb' && !context.options.json
  return moves ? movingBars(context) : plainLines(context)
}

/** A line where the words change; a share that grows is no news in a log. */
function plainLines(context: CliContext): ProgressScreen {
  const said = new Map<string, string>()
  return {
    show(_all, { worker, status, error }) {
      const line = error === null ? status : `failed: ${error}`
      if (said.get(worker) === line) return
      said.set(worker, line)
      context.say(`${worker}: ${line}`)
    },
    end() {},
  }
}

/** Ten frames a second are enough for an eye, and little enough for a slow link. */
const FRAME_MS = 100

function movingBars(context: CliContext): ProgressScreen {
  const { stderr, now } = context.io
  let drawn = 0
  let drawnAt = Number.NEGATIVE_INFINITY
  const draw = (all: ReadonlyMap<string, PullProgress>): void => {
    const room = (stderr.columns ?? 80) - 1
    const names = [...all.keys()].map((name) => width(sanitise(name)))
    const lines = [...all.values()].map((one) => {
      const line = presentPull(one, Math.max(...names))
      return truncateEnd(context.options.ascii ? toAscii(line) : line, room)
    })
    const up = drawn > 0 ? `\u001b[${drawn}A` : ''
    stderr.write(up + lines.map((line) => `\r\u001b[2K${line}\n`).join(''))
    drawn = lines.length
  }
  return {
    show(all, { done }) {
      if (!done && now() - drawnAt < FRAME_MS) return
      drawnAt = now()
      draw(all)
    },
    end: draw,
  }
}
