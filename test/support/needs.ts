// Tests that need a tool of the machine. Where it is missing they say so and are skipped, but never
// where CI is set: there a skipped test would be a promise nobody checked.

import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'

/** Places of system tools that an ordinary user's PATH may lack. */
const MORE_FOLDERS = ['/usr/sbin', '/sbin', '/usr/local/sbin']

/**
 * Whether the test can go on. `trial` is a call of the tool that must succeed, for one that may be
 * there and not be allowed to work, as `unshare` in a container.
 */
export function needsTool(t: TestContext, tool: string, trial?: readonly string[]): boolean {
  const missing = missingTool(tool, trial)
  if (missing === undefined) return true
  if (isCi()) throw new Error(`${missing}; where CI is set this test may not be skipped`)
  t.skip(missing)
  return false
}

/** Where the tool is, or undefined. */
export function findTool(tool: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), ...MORE_FOLDERS]
  return folders.map((folder) => path.join(folder, tool)).find(isExecutable)
}

function missingTool(tool: string, trial: readonly string[] | undefined): string | undefined {
  const file = findTool(tool)
  if (file === undefined) return `needs ${tool}, which is not installed`
  if (trial === undefined) return undefined
  const { status } = spawnSync(file, trial, { stdio: 'ignore', timeout: 20_000 })
  return status === 0 ? undefined : `needs ${tool}, and \`${tool} ${trial.join(' ')}\` fails here`
}

function isCi(): boolean {
  return !['', '0', 'false'].includes(process.env['CI'] ?? '')
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    // Any reason means the same here: this is not the tool.
    return false
  }
}
