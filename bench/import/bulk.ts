import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { throwawayOpenSearch } from '../../scripts/throwaway-opensearch.ts'
import { Client } from '../search/client.ts'
import { Bulks } from '../support/bulks.ts'
import { linesNowAndThen } from '../support/lines-now-and-then.ts'

const index = 'imported'

const settings = {
  settings: { number_of_shards: 1, number_of_replicas: 0 },
  mappings: {
    properties: {
      dataset_id: { type: 'keyword' },
      source_platform: { type: 'keyword' },
      external_id: { type: 'keyword' },
      language: { type: 'keyword' },
      title: { type: 'text', analyzer: 'english' },
      body: { type: 'text', analyzer: 'english' },
    },
  },
}

/** The same lines sent to OpenSearch as bulks: documents a second from the first line until all are found by words. */
export async function importByBulk(file: string, documents: number): Promise<number> {
  const cluster = await throwawayOpenSearch({ nodes: 1, heapMb: 2048 })
  try {
    const client = new Client(cluster.urls[0]!, 'none')
    await client.call('PUT', `/${index}`, settings)
    const report = linesNowAndThen()
    const startedMs = performance.now()
    const bulks = new Bulks(client, index, (sent) => report(`OpenSearch: ${sent} of ${documents} documents`))
    for await (const line of createInterface({ input: createReadStream(file) })) {
      await bulks.add((JSON.parse(line) as { external_id: string }).external_id, line)
    }
    await bulks.end()
    await client.call('POST', `/${index}/_refresh`)
    const { count } = await client.call('GET', `/${index}/_count`)
    if (count !== documents) throw new Error(`OpenSearch has ${count} of ${documents} documents`)
    client.close()
    return (documents / (performance.now() - startedMs)) * 1000
  } finally {
    await cluster.remove()
  }
}
