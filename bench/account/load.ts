import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

/**
 * A load generator that costs little beside what it measures: requests are ready bytes on bare keep-alive connections,
 * each with one request under way, and of an answer only the status and the length are read. (One on node:http spends
 * more CPU on a request than a bare Fastify route does, and so hides the difference.)
 */
export interface Load {
  readonly requests: number
  readonly perSecond: number
  /** CPU time of the server process for one request, where the system tells. */
  readonly cpuMicroseconds: number
}

export async function load(
  target: {
    readonly address: string
    readonly path: string
    readonly key: string
    readonly pid: number
    /** The codings that are accepted; none unless told. */
    readonly accept?: string
    /** JSON that is sent, by POST; a GET without. */
    readonly body?: string
  },
  connections: number,
  durationMs: number,
): Promise<Load> {
  const { hostname, port, host } = new URL(target.address)
  const accept = target.accept === undefined ? '' : `Accept-Encoding: ${target.accept}\r\n`
  const { body = '' } = target
  const sent = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  const line = `${body === '' ? 'GET' : 'POST'} ${target.path} HTTP/1.1`
  const request = Buffer.from(
    `${line}\r\nHost: ${host}\r\nAuthorization: Bearer ${target.key}\r\n${accept}${sent}\r\n${body}`,
  )
  const sockets = await Promise.all(Array.from({ length: connections }, () => opened(Number(port), hostname)))
  const cpuBefore = cpuSeconds(target.pid)
  const started = performance.now()
  const counts = await Promise.all(sockets.map((socket) => drive(socket, request, started + durationMs)))
  const seconds = (performance.now() - started) / 1000
  const requests = counts.reduce((sum, count) => sum + count, 0)
  const cpu = cpuSeconds(target.pid) - cpuBefore
  return { requests, perSecond: requests / seconds, cpuMicroseconds: (cpu / requests) * 1e6 }
}

function opened(port: number, hostname: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, hostname, () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}

function drive(socket: Socket, request: Buffer, until: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let count = 0
    let got = ''
    socket.setEncoding('latin1')
    socket.on('error', reject)
    socket.on('data', (chunk: string) => {
      got += chunk
      const head = got.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = /content-length: (\d+)/i.exec(got)
      if (!got.startsWith('HTTP/1.1 200') || length === null) {
        reject(new Error(`not the answer that was measured: ${got.slice(0, 200)}`))
        return
      }
      if (got.length < head + 4 + Number(length[1])) return
      got = ''
      count++
      if (performance.now() < until) socket.write(request)
      else {
        socket.destroy()
        resolve(count)
      }
    })
    socket.write(request)
  })
}

/** User and system time of a process, from Linux's process table; NaN where there is none. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}
