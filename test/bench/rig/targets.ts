// What is compared: ogw, nginx, and a bare relay in two forms, each in front of the same worker.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { findTool } from '../../support/needs.ts'
import { until } from '../../support/until.ts'
import { ROOT } from '../../support/write-docs.ts'
import type { RelayFunctions } from './bare-relay-process.ts'
import { startHelper } from './helper.ts'

export interface Target extends AsyncDisposable {
  name: string
  pid: number
  port: number
}

export async function startBareRelay(worker: number, form: 'plain' | 'framed'): Promise<Target> {
  const helper = startHelper<RelayFunctions>('bare-relay-process', [String(worker), form])
  const port = await helper.call('listen')
  const name = form === 'plain' ? 'bare relay' : 'bare relay, framed once'
  return { name, pid: helper.pid, port, [Symbol.asyncDispose]: () => helper[Symbol.asyncDispose]() }
}

/** Undefined where nginx is not installed. */
export async function startNginx(worker: number): Promise<Target | undefined> {
  const nginx = findTool('nginx')
  if (nginx === undefined) return undefined
  const folder = await mkdtemp(path.join(tmpdir(), 'ogw-bench-nginx-'))
  const port = await freePort()
  const config = path.join(folder, 'nginx.conf')
  await writeFile(config, nginxConfig({ folder, port, worker }))
  const args = ['-p', folder, '-c', config, '-e', path.join(folder, 'error.log')]
  return await started('nginx', spawn(nginx, args, { stdio: 'ignore' }), { port, folder })
}

function nginxConfig({ folder, port, worker }: { folder: string; port: number; worker: number }) {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  return `daemon off; master_process off; worker_processes 1; pid ${folder}/pid;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 100000000; ${temporary.join(' ')}
  upstream worker { server 127.0.0.1:${worker}; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location / {
      proxy_pass http://worker; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_read_timeout 1h;
    }
  }
}
`
}

export interface OgwOptions {
  workers: readonly number[]
  /** Name of a model that the gateway lists once it is ready. */
  model: string
}

/** `ogw serve` with everything at its default, but slots enough for the load. */
export async function startOgw({ workers, model }: OgwOptions): Promise<Target> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ogw-bench-'))
  const port = await freePort()
  const config = path.join(folder, 'config.json')
  await writeFile(
    config,
    JSON.stringify({
      listen: `127.0.0.1:${port}`,
      ops_listen: `127.0.0.1:${await freePort()}`,
      admin: { socket: path.join(folder, 'admin.sock') },
      storage: { dir: path.join(folder, 'state') },
      workers: workers.map((one, index) => ({
        name: `node-${index + 1}`,
        url: `http://127.0.0.1:${one}`,
        max_concurrent: 2000,
      })),
    }),
  )
  const child = spawn(path.join(ROOT, 'bin', 'ogw'), ['serve', '--config', config], {
    env: { ...process.env, NODE_ENV: 'production', OGW_NODE: process.execPath },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  // Read as a supervisor would, but for the first lines thrown away.
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < 4000) said += text
  })
  const target = await started('ogw', child, { port, folder })
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`ogw ended: ${said}`)
      const answer = await fetch(`http://127.0.0.1:${port}/api/tags`)
      return (await answer.text()).includes(`"${model}"`)
    },
    { what: 'ogw to list the models', timeoutMs: 60_000, intervalMs: 50 },
  )
  return target
}

interface Place {
  port: number
  folder: string
}

async function started(name: string, child: ChildProcess, { port, folder }: Place) {
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve())
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  void gone.then(() => process.off('exit', kill))
  const target = {
    name,
    pid: child.pid ?? 0,
    port,
    async [Symbol.asyncDispose]() {
      kill()
      await gone
      await rm(folder, { recursive: true, force: true })
    },
  }
  await until(async () => (await fetch(`http://127.0.0.1:${port}/api/version`)).ok, {
    what: `${name} to answer`,
    timeoutMs: 60_000,
    intervalMs: 50,
  })
  return target
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
