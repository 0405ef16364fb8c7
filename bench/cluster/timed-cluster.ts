import { Cluster, type ClusterCall } from '../../src/storage/opensearch/cluster.ts'
import { Client } from '../support/client.ts'

/**
 * Calls the cluster over plain connections. Counts the requests, and the time during which at least one is in flight:
 * from before its body is written until its answer is read, because every client has to do both.
 */
export class TimedCluster extends Cluster {
  readonly #client: Client
  #open = 0
  #since = 0
  #askedMs = 0
  #requests = 0

  constructor(node: string) {
    super({ nodes: [node] })
    this.#client = new Client(node, 'none')
  }

  begin(): void {
    this.#askedMs = 0
    this.#requests = 0
  }

  get askedMs(): number {
    return this.#askedMs
  }

  get requests(): number {
    return this.#requests
  }

  override async call<Answer>({ method, path, query = {}, body, lines = [] }: ClusterCall): Promise<Answer> {
    const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
    this.#requests++
    if (this.#open++ === 0) this.#since = performance.now()
    try {
      const sent = body === undefined ? lines.map((line) => `${line}\n`).join('') : JSON.stringify(body)
      const { status, text } = await this.#client.send(method, `${path}?${parameters}`, sent)
      if (status >= 300) throw new Error(`the cluster answered ${status}: ${text.slice(0, 500)}`)
      return JSON.parse(text) as Answer
    } finally {
      if (--this.#open === 0) this.#askedMs += performance.now() - this.#since
    }
  }
}
