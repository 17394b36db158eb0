// `ogw doctor`: looks at all that usually goes wrong and says what to do about it. What is looked
// at stands in src/cli/doctor/.

import { Command } from 'commander'
import type { Tone } from '../../tui/present/cell.ts'
import { pad, sanitise, width } from '../../tui/present/text.ts'
import { plural } from '../../tui/present/units.ts'
import type { CliContext } from '../context.ts'
import type { Finding } from '../doctor/finding.ts'
import { examine } from '../doctor/examine.ts'
import { CliError } from '../exit-codes.ts'
import { addExamples } from '../options.ts'
import { type Look, paint } from '../table.ts'

export function doctorCommand(context: CliContext): Command {
  const command = new Command('doctor')
    .description('look for what is wrong and say what to do; exit code 7 where something fails')
    .action(async () => {
      const findings = await examine(context)
      context.print(findings, (look) => findingsInWords(findings, look))
      const failed = findings.filter(({ level }) => level === 'fail')
      if (failed.length > 0)
        throw new CliError('unhealthy', `${plural(failed.length, 'check')} failed`)
    })
  return addExamples(command, [
    ['ogw doctor', 'on the machine of the gateway'],
    ['ogw doctor --json | jq \'.[] | select(.level != "ok")\'', 'only what is not in order'],
  ])
}

const TONE: Readonly<Record<Finding['level'], Tone>> = { ok: 'good', warn: 'warn', fail: 'bad' }

/** Sentences are too long for columns: what to do stands below what was found. */
function findingsInWords(findings: readonly Finding[], look: Look): string {
  const room = Math.max(...findings.map(({ check }) => width(sanitise(check))))
  return findings
    .map(({ check, level, message, action }) => {
      const start = `${paint(level.padEnd(4), TONE[level], look)}   ${pad(sanitise(check), room)}   `
      const below = action === null ? '' : `${' '.repeat(room + 10)}to do: ${sanitise(action)}\n`
      return `${start}${sanitise(message)}\n${below}`
    })
    .join('')
}
