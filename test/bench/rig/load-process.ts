// The clients of a benchmark: plain sockets that parse no more than they must.

import { connect, type Socket } from 'node:net'
import { serveCalls } from './helper.ts'

const sockets = new Set<Socket>()
let received = 0

const functions = {
  /** Opens streams and resolves when each has got its first bytes. */
  async open({ port, streams }: { port: number; streams: number }): Promise<void> {
    received = 0
    await Promise.all(Array.from({ length: streams }, () => openStream(port)))
  },
  /** Bytes of all streams since they were opened, heads included. */
  received: (): number => received,
  close(): void {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  },
  short,
  firstBytes,
}

export type LoadFunctions = typeof functions

async function openStream(port: number): Promise<void> {
  const socket = await connected(port)
  sockets.add(socket)
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk) => {
      received += chunk.length
      resolve()
    })
    socket.once('close', () => reject(new Error('a stream ended')))
    socket.write(requestFor('stream:latest', true))
  })
}

interface ShortOptions {
  port: number
  connections: number
  perSecond: number
  ms: number
}

/** Sends so many requests a second over the connections and answers how many were answered. */
async function short({ port, connections, perSecond, ms }: ShortOptions): Promise<number> {
  const request = requestFor('one:latest', false)
  const open = await Promise.all(Array.from({ length: connections }, () => connected(port)))
  const end = performance.now() + ms
  const gap = (1000 * connections) / perSecond
  const counts = await Promise.all(
    open.map(async (socket, index) => {
      let count = 0
      let next = performance.now() + (gap * index) / connections
      while (next < end) {
        await sleepUntil(next)
        await exchange(socket, request)
        count += 1
        next = Math.max(next + gap, performance.now() - gap)
      }
      socket.destroy()
      return count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Milliseconds to the first byte of the body, for each port in turn, `count` times. */
async function firstBytes({ ports, count }: { ports: number[]; count: number }) {
  const open = await Promise.all(ports.map(connected))
  const request = requestFor('first:latest', true)
  const times: number[][] = ports.map(() => [])
  for (let round = 0; round < count; round += 1) {
    for (const [index, socket] of open.entries()) {
      const start = performance.now()
      const first = await exchange(socket, request)
      times[index]!.push(first - start)
      await sleepUntil(performance.now() + 2)
    }
  }
  for (const socket of open) socket.destroy()
  return times
}

/** One request and its whole answer; when the first byte of the body came. */
async function exchange(socket: Socket, request: Buffer): Promise<number> {
  return await new Promise<number>((resolve, reject) => {
    let text = ''
    let first = 0
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      if (head < 0) return
      if (first === 0 && text.length > head + 4) first = performance.now()
      if (!isWhole(text, head)) return
      socket.off('data', onData).off('close', onClose)
      if (text.startsWith('HTTP/1.1 200')) resolve(first)
      else reject(new Error(text))
    }
    const onClose = (): void => reject(new Error('the connection ended'))
    socket.on('data', onData).on('close', onClose)
    socket.write(request)
  })
}

function isWhole(text: string, head: number): boolean {
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1]
  return length === undefined
    ? text.endsWith('0\r\n\r\n')
    : text.length >= head + 4 + Number(length)
}

function requestFor(model: string, stream: boolean): Buffer {
  const body = JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Why is the sky blue? Answer in one sentence.' }],
    stream,
  })
  return Buffer.from(
    `POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

async function connected(port: number): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('connect', () => resolve(socket)).once('error', reject)
    socket.on('error', () => socket.destroy())
  })
}

async function sleepUntil(when: number): Promise<void> {
  const ms = when - performance.now()
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
}

serveCalls(functions)
