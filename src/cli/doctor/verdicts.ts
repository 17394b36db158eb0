// What each fact means: pure functions from what was seen to a finding.

import type { StateFile, Status } from '../../gateway/contract/schema/gateway.ts'
import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { bytes, duration, percent } from '../../tui/present/units.ts'
import { fail, type Finding, ok, warn } from './finding.ts'

/** As in `engines` of package.json. */
const MIN_NODE_MAJOR = 24

export function judgeNode(version: string): Finding {
  const major = Number(version.split('.')[0])
  if (major >= MIN_NODE_MAJOR) return ok('node', `version ${version}`)
  return fail(
    'node',
    `version ${version} is too old`,
    `install Node ${MIN_NODE_MAJOR} or later, or set OGW_NODE`,
  )
}

/** Variables that send HTTP clients through a proxy. Workers are asked directly all the same. */
const PROXY_VARIABLES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
]

export function judgeProxies(env: Readonly<Record<string, string | undefined>>): Finding {
  const set = PROXY_VARIABLES.filter((name) => (env[name] ?? '') !== '')
  if (set.length === 0) return ok('proxies', 'none in the environment')
  return warn(
    'proxies',
    `${set.join(', ')} set here`,
    'ogw asks workers directly; clients such as curl need NO_PROXY with the address of the gateway',
  )
}

/** Before this the clock was never set: certificates and windows of credits would be wrong. */
const EARLIEST = Date.parse('2025-01-01T00:00:00Z')
const MAX_CLOCK_DIFFERENCE_MS = 5000

export function judgeClock(now: number, gatewayNow: number | undefined): Finding {
  if (now < EARLIEST) {
    return fail(
      'clock',
      `says ${new Date(now).toISOString()}`,
      'set the clock of this machine (NTP)',
    )
  }
  const difference = gatewayNow === undefined ? 0 : Math.abs(now - gatewayNow)
  if (difference <= MAX_CLOCK_DIFFERENCE_MS) return ok('clock', new Date(now).toISOString())
  return warn(
    'clock',
    `differs from that of the gateway by ${duration(difference)}, or was set since it started`,
    'synchronise the clocks (NTP)',
  )
}

export function judgeWorkers(workers: readonly WorkerRow[]): Finding[] {
  if (workers.length === 0) return [fail('workers', 'none is configured', 'add one to the config')]
  return workers.map((worker) => {
    const check = `worker ${worker.name}`
    if (worker.health === 'down') {
      return fail(check, `down: ${worker.error ?? 'no reason known'}`, downAction(worker))
    }
    if (worker.health === 'starting') {
      return warn(check, 'not probed yet', 'wait a few seconds and look again')
    }
    if (worker.draining) return warn(check, 'draining', `ogw workers resume ${worker.name}`)
    if (worker.inventory_error !== null) {
      return warn(check, `its inventory cannot be read: ${worker.inventory_error}`, 'see its log')
    }
    return ok(
      check,
      `up at ${worker.address ?? 'no address'}, Ollama ${worker.version ?? 'of unknown version'}`,
    )
  })
}

/** GPU figures: that none is read is no fault, that configured ones are missing is. */
export function judgeTelemetry(workers: readonly WorkerRow[]): Finding[] {
  const missing = workers.flatMap(({ name, telemetry_error: error }) =>
    error === null
      ? []
      : [
          warn(
            `telemetry ${name}`,
            error,
            'requests are placed without it; see docs/operations.md',
          ),
        ],
  )
  const gpus = new Map(workers.flatMap(({ telemetry }) => telemetry?.gpus ?? []).map(idAndGpu))
  if (gpus.size === 0) return [...missing, ok('gpus', 'none is read')]
  const texts = [...gpus.values()].slice(0, MAX_GPUS_TOLD).map(gpuText)
  return [...missing, ok('gpus', texts.join('; '))]
}

const MAX_GPUS_TOLD = 8

type Gpu = NonNullable<WorkerRow['telemetry']>['gpus'][number]

const idAndGpu = (gpu: Gpu): [string, Gpu] => [gpu.id, gpu]

function gpuText(gpu: Gpu): string {
  const { vram_used_bytes: used, vram_total_bytes: total, utilization } = gpu
  const load = utilization === null ? 'load unknown' : percent(utilization)
  const vram = total === null ? 'memory unknown' : `${bytes(used)} of ${bytes(total)}`
  return `${gpu.name === '' ? gpu.id : gpu.name}: ${load}, ${vram}`
}

function downAction({ name, addresses }: WorkerRow): string {
  const urls = addresses.map(({ url }) => url).join(' ')
  return `is Ollama running there and listening beyond loopback (${urls})? Then: ogw workers probe ${name}`
}

export function judgeModels(models: readonly ModelRow[]): Finding {
  const differing = models.filter(({ drift }) => drift).map(({ model }) => model)
  if (differing.length === 0) return ok('model drift', 'copies of one name are the same everywhere')
  return warn(
    'model drift',
    `copies differ between workers: ${differing.slice(0, 10).join(', ')}`,
    'ogw models show MODEL, then pull it again where it is old',
  )
}

export function judgeConfigDrift({ config, drift }: Status): Finding[] {
  const findings: Finding[] = []
  if (config.reload_error !== null) {
    findings.push(
      fail('config reload', config.reload_error, 'correct the file, then: ogw config reload'),
    )
  }
  if (config.restart_needed.length > 0) {
    findings.push(
      warn(
        'config restart',
        `waits for a restart: ${config.restart_needed.join(', ')}`,
        'restart the gateway',
      ),
    )
  }
  if (drift.problems.length > 0) {
    findings.push(
      fail(
        'config drift',
        drift.problems.join('; '),
        'correct the file: a restart would fail with it',
      ),
    )
  } else if (drift.state === 'differs') {
    findings.push(
      warn(
        'config drift',
        `the file differs from what runs: ${drift.keys.join(', ')}`,
        'ogw config reload',
      ),
    )
  }
  if (findings.length > 0) return findings
  const file = drift.state === 'no_file' ? 'there is no file' : 'what runs is what the file says'
  return [ok('config drift', file)]
}

export function judgeState(files: readonly StateFile[]): Finding[] {
  return files
    .filter(({ error }) => error !== null)
    .map(({ name, path, error }) => {
      // The history is only ever read in part: placement itself is not touched.
      if (name === 'placement_history_file') {
        const action = 'stop the gateway, mend or delete those lines, start it'
        return warn('state', error ?? '', action)
      }
      const action = 'free space or correct the owner of the folder'
      return fail('state', `${path}: ${error ?? ''}`, action)
    })
}

const WARN_FREE_BYTES = 1_000_000_000
const FAIL_FREE_BYTES = 50_000_000

export function judgeSpace(folder: string, freeBytes: number): Finding {
  const message = `${bytes(freeBytes)} free for ${folder}`
  if (freeBytes >= WARN_FREE_BYTES) return ok('disk space', message)
  const action = 'free space, or move storage.dir'
  return freeBytes < FAIL_FREE_BYTES
    ? fail('disk space', message, action)
    : warn('disk space', message, action)
}
