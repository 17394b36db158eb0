// Every persisted document says its version. A gateway reads older ones, and refuses to start with
// a newer one, whose content it would lose with its next write.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { loadConfig } from '../../../src/gateway/config/load.ts'
import { startGateway } from '../../../src/gateway/main.ts'
import type { Gateway } from '../../../src/gateway/main.ts'
import { StartError } from '../../../src/gateway/start-error.ts'
import { STATE_FILES, STATE_ROLES } from '../../../src/gateway/state/state-files.ts'
import type { StateRole } from '../../../src/gateway/state/state-files.ts'
import { stateSample } from '../../support/state-sample.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ogw-versions-'))
  mkdirSync(path.join(folder, 'state'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function start(): Promise<Gateway> {
  const config = {
    listen: '127.0.0.1:0',
    ops_listen: null,
    admin: { socket: path.join(folder, 'admin.sock') },
    storage: { dir: path.join(folder, 'state') },
    workers: [{ name: 'node-1', url: 'http://127.0.0.1:9', probe: { interval: 'off' } }],
    log: { level: 'error' },
  }
  const loaded = loadConfig(JSON.stringify(config), {})
  assert.ok(loaded.ok)
  return startGateway({ loaded, file: undefined, env: {}, version: '0.0.0' })
}

const fileOf = (role: StateRole): string => path.join(folder, 'state', STATE_FILES[role].name)
const SAMPLE = stateSample()
const VERSIONED = STATE_ROLES.filter((role) => role !== 'audit_file')

test('the sample holds every file of the table', () => {
  assert.deepEqual(Object.keys(SAMPLE).toSorted(), [...STATE_ROLES].toSorted())
})

test('a gateway starts with all of them, in the version that it writes', async () => {
  for (const role of STATE_ROLES) writeFileSync(fileOf(role), SAMPLE[role])
  const gateway = await start()
  await gateway.stop()
  for (const role of VERSIONED) {
    const { version, problem } = STATE_FILES[role].judge(readFileSync(fileOf(role), 'utf8'))
    assert.deepEqual({ role, version, problem }, { role, version: 1, problem: null })
  }
})

// History and usage were written without a version at first: those lines are version 1.
test('lines without a version are read', async () => {
  for (const role of ['placement_history_file', 'usage_file'] as const) {
    writeFileSync(fileOf(role), SAMPLE[role].replaceAll('"version":1,', ''))
  }
  const document = SAMPLE.model_placement_file
  writeFileSync(fileOf('model_placement_file'), document)
  const gateway = await start()
  assert.equal(gateway.access.usage.error, undefined)
  const [total] = await gateway.access.usage.totals('tenant', 0)
  assert.equal(total?.prompt_tokens, 7)
  await gateway.stop()
})

describe('a newer one stops the start with exit code 78', () => {
  for (const role of VERSIONED) {
    test(role, async () => {
      const text = SAMPLE[role].replace(/"version": ?1/, '"version": 2')
      assert.notEqual(text, SAMPLE[role])
      writeFileSync(fileOf(role), text)
      await assert.rejects(start(), (error) => {
        assert.ok(error instanceof StartError)
        assert.equal(error.exitCode, 78)
        assert.ok(error.message.startsWith(fileOf(role)), error.message)
        assert.match(
          error.message,
          /newer ogw: it has version 2, this one knows 1\. .*move it away/,
        )
        return true
      })
      assert.equal(readFileSync(fileOf(role), 'utf8'), text, 'it is left as it is')
    })
  }
})

// It is only appended to: what a newer ogw wrote there is lost by nobody.
test('an audit log with lines of another form stops nobody', async () => {
  const text = '{"version":2,"what":"else"}\n'
  writeFileSync(fileOf('audit_file'), text)
  const gateway = await start()
  await gateway.stop()
  assert.ok(readFileSync(fileOf('audit_file'), 'utf8').startsWith(text))
})
