// What stands below the first line of a failure: which models, who was first, and what to do.

import { AdminError } from '../gateway/contract/faults.ts'
import { CliError } from './exit-codes.ts'

/** Undefined for what is neither the gateway's nor the CLI's own failure, that is a bug. */
export function detailsOf(error: unknown): readonly string[] | undefined {
  if (error instanceof CliError) return error.details
  if (!(error instanceof AdminError)) return undefined
  const { orphaned, force } = error.details
  const lines: string[] = []
  if (isTextList(orphaned) && orphaned.length > 0) {
    lines.push('no worker would be left for:', ...orphaned.map((model) => `  ${model}`))
    lines.push('allow them first on another worker that has them')
  } else if (force === true) {
    lines.push('add --force to do it all the same')
  }
  return lines
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
