import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Cluster } from './cluster.ts'
import { IndexCounts } from './index-counts.ts'

test('a small index is counted after every change, a large one at intervals, for any number of callers', async (t) => {
  let counted = 0
  const server = createServer((_, response) => {
    counted++
    const chunks = { doc_count: 5, profiles: { buckets: [{ key: 'p', doc_count: counted }] } }
    const body = { timed_out: false, _shards: { failed: 0 }, hits: { total: { value: 2 } }, aggregations: { chunks } }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const cluster = new Cluster({ nodes: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`] })
  const countedOf = async (entries: number): Promise<number[]> => {
    const counts = new IndexCounts(cluster, 'tidemark-1')
    counted = 0
    const seen: number[] = []
    for (const writes of [1, 1, 2, 2, 3]) {
      const at = { position: 1, entries, writes }
      const found = await Promise.all([counts.at(at), counts.at(at)])
      seen.push(...found.map((one) => one!.byProfile.get('p')!))
    }
    return seen
  }
  assert.deepEqual(await countedOf(1000), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3])
  assert.deepEqual(await countedOf(2_000_000), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
})
