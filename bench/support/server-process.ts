import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import project from '../../package.json' with { type: 'json' }

/** How the product starts node. */
const nodeFlags = project.scripts.tidemark.split(' ').filter((word) => word.startsWith('--'))

export const adminToken = 'tma_bench-only-0123456789abcdef'

export interface Memory {
  /** The most that was ever resident, mapped database pages included. */
  readonly peakMb: number
  /** Resident now and not backed by a file. */
  readonly anonymousMb: number
}

/** A server in a process of its own, as its clients and the operating system see it. */
export class ServerProcess {
  readonly address: string
  readonly agent = new Agent({ keepAlive: true })
  #child: ChildProcess

  private constructor(child: ChildProcess, address: string) {
    this.#child = child
    this.address = address
  }

  /** `alone`: the content side without search. `execArgv` goes to node, to profile for example. */
  static async start(dataDir: string, alone: boolean, execArgv: readonly string[] = []): Promise<ServerProcess> {
    const script = alone
      ? new URL('./content-server.ts', import.meta.url)
      : new URL('../../bin/tidemark.js', import.meta.url)
    const args = alone ? [dataDir, adminToken] : ['serve']
    const child = spawn(process.execPath, [...nodeFlags, ...execArgv, script.pathname, ...args], {
      env: {
        ...process.env,
        TIDEMARK_DATA_DIR: dataDir,
        TIDEMARK_PORT: '0',
        TIDEMARK_ADMIN_TOKEN: adminToken,
        TIDEMARK_LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout.setEncoding('utf8')
    for await (const text of child.stdout) {
      printed += text
      const address = /serves (http:\S+)/.exec(printed)?.[1]
      if (address !== undefined) {
        child.stdout.resume()
        return new ServerProcess(child, address)
      }
    }
    throw new Error(`the server did not start: ${printed}`)
  }

  get pid(): number {
    return this.#child.pid!
  }

  async stop(): Promise<void> {
    this.agent.destroy()
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }

  /** As Linux tells it; null elsewhere. */
  async memory(): Promise<Memory | null> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8').catch(() => null)
    if (status === null) return null
    const mb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024
    return { peakMb: mb('VmHWM'), anonymousMb: mb('RssAnon') }
  }

  /** What the search index of a whole instance holds, what it does not yet, and in how much memory. */
  async index(): Promise<{ documents: number; pending: number; memoryMb: number }> {
    const found = JSON.parse(await this.call(adminToken, 'GET', '/admin/v1/indexing'))
    const { indexed_documents: documents, pending_documents: pending, memory_bytes } = found
    return { documents, pending, memoryMb: memory_bytes / 1024 / 1024 }
  }

  /** Processor time so far, of all threads, as Linux tells it; NaN elsewhere. */
  async cpuMs(): Promise<number> {
    const stat = await readFile(`/proc/${this.#child.pid}/stat`, 'utf8').catch(() => '')
    // After the name, which can hold anything: user and system time are fields 14 and 15, in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  }

  async call(key: string, method: string, path: string, body?: string): Promise<string> {
    const sent = request(new URL(path, this.address), {
      method,
      agent: this.agent,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
    })
    sent.end(body)
    const [response] = await once(sent, 'response')
    const parts: Buffer[] = []
    for await (const part of response) parts.push(part as Buffer)
    const text = Buffer.concat(parts).toString()
    if (response.statusCode >= 300) throw new Error(`${method} ${path} answered ${response.statusCode}: ${text}`)
    return text
  }

  /** A dataset, a collector and a consumer, so that a bench can begin. */
  async prepare(): Promise<{ collector: string; consumer: string }> {
    await this.call(adminToken, 'PUT', '/admin/v1/datasets/bench', '{"name":"bench"}')
    const collector = JSON.parse(await this.call(adminToken, 'POST', '/admin/v1/collectors', '{"name":"bench"}'))
    const application = JSON.parse(
      await this.call(
        adminToken,
        'POST',
        '/admin/v1/applications',
        '{"name":"bench","policy":{"requests_per_second":100000,"burst":100000,"max_in_flight":1000},"entitlements":[{"datasets":["bench"]}]}',
      ),
    )
    const path = `/admin/v1/applications/${application.application_id}/keys`
    const consumer = JSON.parse(await this.call(adminToken, 'POST', path, '{}'))
    return { collector: collector.collector_key, consumer: consumer.api_key }
  }
}
