import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from './client.ts'

const launcher = new URL('../../bin/tidemark.js', import.meta.url).pathname
const adminToken = 'tma_bench-only-0123456789abcdef'

/** The same values as in the container image and the systemd unit in `deploy/`. */
const deployed = { MALLOC_ARENA_MAX: '2', NODE_OPTIONS: '--max-semi-space-size=8' }

/** Starts a process of Tidemark as it is deployed, with the settings of this process and `env`. */
export const tidemark = (
  args: readonly string[],
  dataDir: string,
  env: Readonly<Record<string, string>>,
  stdout: 'pipe' | 'ignore',
): ChildProcess =>
  spawn(process.execPath, [launcher, ...args], {
    env: { ...deployed, ...process.env, TIDEMARK_DATA_DIR: dataDir, ...env },
    stdio: ['ignore', stdout, 'inherit'],
  })

export interface Callers {
  readonly collector: Client
  readonly consumer: Client
}

/** A server in a process of its own, as its clients and the operating system see it. */
export class ServerProcess {
  readonly address: string
  readonly admin: Client
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, address: string) {
    this.#child = child
    this.address = address
    this.admin = new Client(address, adminToken)
  }

  static async start(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    const own = { TIDEMARK_PORT: '0', TIDEMARK_ADMIN_TOKEN: adminToken, TIDEMARK_LOG_LEVEL: 'error' }
    const child = tidemark(['serve'], dataDir, { ...own, ...env }, 'pipe')
    let printed = ''
    for await (const text of child.stdout!.setEncoding('utf8')) {
      printed += text
      const address = /serves (http:\S+)/.exec(printed)?.[1]
      if (address !== undefined) {
        child.stdout!.resume()
        return new ServerProcess(child, address)
      }
    }
    throw new Error(`the server did not start: ${printed}`)
  }

  get pid(): number {
    return this.#child.pid!
  }

  async stop(): Promise<void> {
    this.admin.close()
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }

  /** The state of the search index, as an operator sees it. */
  index(): Promise<ReturnType<typeof JSON.parse>> {
    return this.admin.call('GET', '/admin/v1/indexing')
  }

  /** Creates datasets, and a collector and an application without effective limits. */
  async prepare(datasets: readonly string[] = ['bench']): Promise<Callers> {
    for (const name of datasets) await this.admin.call('PUT', `/admin/v1/datasets/${name}`, { name })
    const { collector_key } = await this.admin.call('POST', '/admin/v1/collectors', { name: 'bench' })
    const { application_id } = await this.admin.call('POST', '/admin/v1/applications', {
      name: 'bench',
      policy: { requests_per_second: 100_000, burst: 100_000, max_in_flight: 1000 },
      entitlements: [{ datasets }],
    })
    const { api_key } = await this.admin.call('POST', `/admin/v1/applications/${application_id}/keys`, {})
    return { collector: new Client(this.address, collector_key), consumer: new Client(this.address, api_key) }
  }
}
