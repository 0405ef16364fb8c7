import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everything, queryOf, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { mappingOf, type Told, ToldCluster, whole } from '../../../test/support/told-cluster.ts'
import { type KeywordRequest, noFilters } from '../../search/search-index.ts'
import { Cluster } from './cluster.ts'
import { OpenSearchIndex } from './opensearch-index.ts'

const chunk = { fields: { 'chunks.version': ['v1'], 'chunks.title_length': [3] }, sort: [1, 'c1'] }
const hit = { fields: { id: ['d1'] }, sort: [1, 'd1'], inner_hits: { chunks: { hits: { hits: [chunk] } } } }
const counts = { doc_count: 1, title: { value: 1 }, body: { value: 1 }, found: { buckets: [{ doc_count: 1 }] } }

const aggregations = { chunks: { class0: counts, found: { doc_count: 1 } } }
const found = { ...whole, hits: { hits: [hit] }, aggregations }
const request = {
  ...{ query: queryOf('word'), scope: everything, filters: noFilters, limit: 10, after: null, otherChunksMax: 0 },
  near: [{ profileId: 'p', vector: [1, 0], filters: noFilters }],
  timeoutMs,
}
const told = { language: null, publishedAt: null, titleLength: 3 }
const foundHit = { documentId: 'd1', chunkId: 'c1', versionId: 'v1', score: 1, otherChunks: [], ...told }

/** The hits by words of a cluster that answers so to what compares them with the vector. */
async function hitsOf(compared: Told, asked: Pick<KeywordRequest, 'explainFirst'>) {
  const cluster = new ToldCluster((path, body) => {
    if (path.includes('/_mapping')) return mappingOf({ p: 2 })
    return body.includes('knn_score') ? compared : { body: found }
  })
  const node = await cluster.start()
  try {
    const index = new OpenSearchIndex({ cluster: new Cluster({ nodes: [node] }), alias: 'tidemark-1' })
    const page = await index.keyword({ ...request, ...asked })
    assert.ok(page.outcome === 'found')
    return { hits: page.hits, searches: cluster.asked.filter((body) => body !== '') }
  } finally {
    cluster.stop()
  }
}

test('what was found by words is found where comparing it with the vector fails: it is left to be asked for', async () => {
  const refused = { status: 400, body: { error: { type: 'no_such_script' } } }
  const { hits, searches } = await hitsOf(refused, {})
  assert.ok(searches.some((body) => body.includes('knn_score')))
  assert.deepEqual(hits, [foundHit])
})

test('cosines and parts come by one exchange; where one of them fails, neither is told', async () => {
  const source = { title: 'word', title_length: 1, body: '', body_length: 0, dataset: 'news', platform: 'p' }
  const explained = { ...chunk, _source: source }
  const withParts = { ...found, hits: { hits: [{ ...hit, inner_hits: { chunks: { hits: { hits: [explained] } } } }] } }
  const whenBoth = await hitsOf({ body: { responses: [withParts, found] } }, { explainFirst: true })
  assert.deepEqual(whenBoth.hits, [{ ...foundHit, parts: [1], cosines: [1] }])
  assert.equal(whenBoth.searches.length, 3)
  for (const [i, failed] of [
    { error: { type: 'no_such_script' }, status: 400 },
    { ...found, timed_out: true },
    { ...found, _shards: { failed: 1 } },
    null,
    {},
  ].entries()) {
    const responses = i === 1 ? [failed, found] : [withParts, failed]
    const { hits } = await hitsOf({ body: { responses } }, { explainFirst: true })
    assert.deepEqual(hits, [foundHit])
  }
  for (const body of [{}, { responses: [withParts] }, { responses: {} }]) {
    assert.deepEqual((await hitsOf({ body }, { explainFirst: true })).hits, [foundHit])
  }
})
