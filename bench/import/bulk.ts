import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { throwawayOpenSearch } from '../../scripts/throwaway-opensearch.ts'
import { Client, parsed } from '../search/client.ts'
import { linesNowAndThen } from '../support/lines-now-and-then.ts'

const index = 'imported'
const linesABulk = 1000
/** So that it has the next when it is done with one. */
const bulksAtOnce = 2

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
    let sent = 0
    let lines: string[] = []
    const underWay = new Set<Promise<void>>()
    const flush = async (): Promise<void> => {
      const bulk = lines
      lines = []
      while (underWay.size >= bulksAtOnce) await Promise.race(underWay)
      const sending = client.send('POST', `/${index}/_bulk`, bulk.join('')).then((answer) => {
        if (parsed(answer).errors) throw new Error('OpenSearch did not take all documents')
        sent += bulk.length
        underWay.delete(sending)
        report(`OpenSearch: ${sent} of ${documents} documents`)
      })
      underWay.add(sending)
    }
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const { external_id } = JSON.parse(line) as { external_id: string }
      lines.push(`{"index":{"_id":${JSON.stringify(external_id)}}}\n${line}\n`)
      if (lines.length === linesABulk) await flush()
    }
    if (lines.length > 0) await flush()
    await Promise.all(underWay)
    await client.call('POST', `/${index}/_refresh`)
    const { count } = await client.call('GET', `/${index}/_count`)
    if (count !== documents) throw new Error(`OpenSearch has ${count} of ${documents} documents`)
    client.close()
    return (documents / (performance.now() - startedMs)) * 1000
  } finally {
    await cluster.remove()
  }
}
