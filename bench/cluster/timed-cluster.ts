import { Cluster, type ClusterCall } from '../../src/storage/opensearch/cluster.ts'
import { Client } from '../support/client.ts'

/**
 * Calls the cluster over plain connections. Counts the requests, and the time during which at least one is in flight.
 * The time includes writing the body and reading the answer, because every client has to do both.
 */
export class TimedCluster extends Cluster {
  readonly #client: Client
  #open = 0
  #busySince = 0
  #busyMs = 0
  #requests = 0

  constructor(node: string) {
    super({ nodes: [node] })
    this.#client = new Client(node, 'none')
  }

  startTiming(): void {
    this.#busyMs = 0
    this.#requests = 0
  }

  get busyMs(): number {
    return this.#busyMs
  }

  get requests(): number {
    return this.#requests
  }

  override async call<Answer>({ method, path, query = {}, body, lines = [] }: ClusterCall): Promise<Answer> {
    const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
    this.#requests++
    if (this.#open++ === 0) this.#busySince = performance.now()
    try {
      const sent = body === undefined ? lines.map((line) => `${line}\n`).join('') : JSON.stringify(body)
      const { status, text } = await this.#client.send(method, `${path}?${parameters}`, sent)
      if (status >= 300) throw new Error(`the cluster answered ${status}: ${text.slice(0, 500)}`)
      return JSON.parse(text) as Answer
    } finally {
      if (--this.#open === 0) this.#busyMs += performance.now() - this.#busySince
    }
  }
}
