// Gathers what `ogw doctor` judges: this machine, the config file, the running gateway and its
// fleet. Every look has a limit, and one that fails is a finding, not the end.

import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import path from 'node:path'
import { AdminError } from '../../gateway/contract/faults.ts'
import type { StateFile, Status } from '../../gateway/contract/schema/gateway.ts'
import type { CliContext } from '../context.ts'
import { fail, type Finding, ok, warn } from './finding.ts'
import {
  judgeClock,
  judgeConfigDrift,
  judgeModels,
  judgeNode,
  judgeProxies,
  judgeSpace,
  judgeState,
  judgeTelemetry,
  judgeWorkers,
} from './verdicts.ts'

export async function examine(context: CliContext): Promise<Finding[]> {
  const { io } = context
  const status = await askStatus(context)
  const gatewayNow =
    status instanceof AdminError
      ? undefined
      : Date.parse(status.started_at) + status.uptime_s * 1000
  const findings = [
    judgeNode(process.versions.node),
    judgeProxies(io.env),
    judgeClock(io.now(), gatewayNow),
  ]
  if (status instanceof AdminError) {
    return [
      ...findings,
      await examineConfigFile(io.env),
      fail('socket', status.message, 'start it with `ogw serve`, or name its socket'),
    ]
  }
  return [...findings, ...(await examineGateway(context, status))]
}

async function askStatus(context: CliContext): Promise<Status | AdminError> {
  try {
    return await context.admin().call('status', {})
  } catch (error) {
    if (error instanceof AdminError) return error
    throw error
  }
}

async function examineGateway(context: CliContext, status: Status): Promise<Finding[]> {
  const admin = context.admin()
  const [workers, models, files] = await Promise.all([
    admin.call('workers.list', {}),
    admin.call('models.list', {}),
    admin.call('storage.list', {}),
  ])
  const { skew } = admin
  return [
    ok('socket', `${status.socket}, gateway ${status.version}, pid ${status.pid}`),
    skew === undefined
      ? ok('version', 'gateway and command are the same')
      : warn('version', skew, 'restart the gateway after an upgrade'),
    ...(await examineHost(status, files)),
    ...judgeConfigDrift(status),
    ...judgeWorkers(workers),
    ...judgeTelemetry(workers),
    judgeModels(models),
    ...status.problems.map((problem) => warn('gateway', problem, 'see `ogw status` and the log')),
  ]
}

/** What only shows on the machine of the gateway itself. */
async function examineHost(status: Status, files: readonly StateFile[]): Promise<Finding[]> {
  const findings = judgeState(files)
  if (await isRemote(status)) {
    return [
      ...findings,
      warn(
        'host',
        `the gateway runs on ${status.host}`,
        'run `ogw doctor` there to check listeners and disk',
      ),
    ]
  }
  findings.push(await examineListener('listener', status.listen))
  if (status.ops_listen !== null) {
    findings.push(await examineListener('metrics listener', status.ops_listen))
  }
  const folders = new Set(files.map((file) => path.dirname(file.path)))
  for (const folder of folders) {
    // oxlint-disable-next-line no-await-in-loop -- one or two folders
    findings.push(...(await examineFolder(folder)))
  }
  return findings
}

/** The socket of a gateway elsewhere is not in this machine's file system. */
async function isRemote({ socket }: Status): Promise<boolean> {
  return access(socket).then(
    () => false,
    () => true,
  )
}

const CONNECT_TIMEOUT_MS = 2000

async function examineListener(check: string, address: string): Promise<Finding> {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '')
  const port = Number(address.slice(colon + 1))
  const target = host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const problem = await tryConnect(target, port)
  if (problem === undefined) return ok(check, `${address} takes connections`)
  return fail(
    check,
    `${address}: ${problem}`,
    'see the log of the gateway, and whether a firewall is in between',
  )
}

function tryConnect(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host, port, timeout: CONNECT_TIMEOUT_MS })
    const end = (problem: string | undefined): void => {
      socket.destroy()
      resolve(problem)
    }
    socket.once('connect', () => end(undefined))
    socket.once('timeout', () => end(`no answer within ${CONNECT_TIMEOUT_MS / 1000} s`))
    socket.once('error', (error) => end(error.message))
  })
}

async function examineFolder(folder: string): Promise<Finding[]> {
  try {
    await access(folder, constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    return [ok('state folder', `${folder} can be written`), judgeSpace(folder, bavail * bsize)]
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return [
      warn(
        'state folder',
        `${folder}: ${message}`,
        'run as the user of the gateway, or correct the owner of the folder',
      ),
    ]
  }
}

/** The file that `ogw serve` would read. A running gateway tells by itself how its file fares. */
async function examineConfigFile(env: CliContext['io']['env']): Promise<Finding> {
  const { findConfigFile, loadConfigFile } = await import('../../gateway/config/load.ts')
  const { problemText } = await import('../../gateway/config/problem.ts')
  const file = findConfigFile(env)
  if (file === undefined) return ok('config file', 'none, the defaults hold')
  const result = loadConfigFile(file, env)
  if (result.ok) return ok('config file', `${file} is valid`)
  const first = result.problems.slice(0, 3).map(problemText).join('; ')
  return fail('config file', `${file}: ${first}`, 'ogw config check')
}
