import { Bulks } from '../support/bulks.ts'
import { Client } from '../support/client.ts'
import { progress } from '../support/progress.ts'
import type { TimedCluster } from './timed-cluster.ts'

/** Nothing is searched here. */
const settings = {
  settings: { number_of_shards: 1, number_of_replicas: 0 },
  mappings: { enabled: false },
}

/**
 * Keeps the texts in the cluster, for comparison: an application without Tidemark would read them there. Tidemark's
 * index has no texts, because its store has them.
 */
export class TextsIndex {
  readonly #cluster: TimedCluster
  readonly #name: string

  constructor(cluster: TimedCluster, name: string) {
    this.#cluster = cluster
    this.#name = name
  }

  async fill(node: string, documents: ReadonlyMap<string, object>): Promise<void> {
    const client = new Client(node, 'none')
    await client.call('PUT', `/${this.#name}`, settings)
    const bulks = new Bulks(client, this.#name, (sent) => progress(`texts of ${sent} documents`))
    for (const [id, document] of documents) await bulks.add(id, JSON.stringify(document))
    await bulks.end()
    await client.call('POST', `/${this.#name}/_forcemerge?max_num_segments=1`)
    client.close()
    progress('')
  }

  async read(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const { docs } = await this.#cluster.call<{ docs: readonly { found: boolean }[] }>({
      method: 'POST',
      path: `/${this.#name}/_mget`,
      body: { ids },
      idempotent: true,
      timeoutMs: 60_000,
    })
    if (!docs.every(({ found }) => found)) throw new Error('the cluster does not have the texts of all results')
  }
}
