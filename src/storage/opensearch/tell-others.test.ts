import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everything, queryOf, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { mappingOf, ToldCluster, whole } from '../../../test/support/told-cluster.ts'
import { noFilters } from '../../search/search-index.ts'
import { Cluster } from './cluster.ts'
import { OpenSearchIndex } from './opensearch-index.ts'

const chunk = { fields: { 'chunks.version': ['v1'], 'chunks.title_length': [3] }, sort: [1, 'c1'] }
const hit = { fields: { id: ['d1'] }, sort: [1, 'd1'], inner_hits: { chunks: { hits: { hits: [chunk] } } } }
const counts = { doc_count: 1, title: { value: 1 }, body: { value: 1 }, found: { buckets: [{ doc_count: 1 }] } }

test('what was found by words is found where comparing it with the vector fails: it is left to be asked for', async () => {
  const cluster = new ToldCluster((path, body) => {
    if (path.includes('/_mapping')) return mappingOf({ p: 2 })
    if (body.includes('knn_score')) return { status: 400, body: { error: { type: 'no_such_script' } } }
    const aggregations = { chunks: { class0: counts, found: { doc_count: 1 } } }
    return { body: { ...whole, hits: { hits: [hit] }, aggregations } }
  })
  const node = await cluster.start()
  try {
    const index = new OpenSearchIndex({ cluster: new Cluster({ nodes: [node] }), alias: 'tidemark-1' })
    const page = await index.keyword({
      ...{ query: queryOf('word'), scope: everything, filters: noFilters, limit: 10, after: null, otherChunksMax: 0 },
      near: [{ profileId: 'p', vector: [1, 0], filters: noFilters }],
      timeoutMs,
    })
    assert.ok(cluster.asked.some((body) => body.includes('knn_score')))
    assert.ok(page.outcome === 'found')
    const told = { language: null, publishedAt: null, titleLength: 3 }
    const found = { documentId: 'd1', chunkId: 'c1', versionId: 'v1', score: 1, otherChunks: [], ...told }
    assert.deepEqual(page.hits, [found])
  } finally {
    cluster.stop()
  }
})
