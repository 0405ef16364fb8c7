import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everything, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { completeResponse, FakeCluster, mappingOf } from '../../../test/support/fake-cluster.ts'
import { noFilters } from '../../search/search-index.ts'
import { Cluster } from './cluster.ts'
import { OpenSearchIndex } from './opensearch-index.ts'

const request = { profileId: 'p', vector: [1, 0], scope: everything, filters: noFilters, topK: 5, timeoutMs }

const kindOf = (body: string): string => {
  if (body === '') return 'mapping'
  if (body.includes('"knn":{')) return 'graph'
  return body.includes('knn_score') ? (body.includes('"id":["d1"]') ? 'compare' : 'compare all') : 'count'
}

/** The search of a body, or every second line of a multi-search. */
const searchesIn = (body: string): string[] =>
  body.includes('\n') ? body.split('\n').filter((_, i) => i % 2 === 1) : [body]

test('after a large count, the graph search is sent with the next count, or in parallel if `_msearch` is refused', async () => {
  let comparable = 11
  let isRefused = false
  const cluster = new FakeCluster(async (path, body) => {
    const responseTo = (search: string) => {
      const kind = kindOf(search)
      if (kind === 'graph') return { ...completeResponse, hits: { hits: [{ fields: { id: ['d1'] } }] } }
      const having = { doc_count: comparable }
      const aggregations = { chunks: { visible: { having, words: { ...having, having } } } }
      return kind === 'count' ? { ...completeResponse, aggregations } : completeResponse
    }
    if (kindOf(body) === 'mapping') return mappingOf({ p: 2 })
    if (isRefused && path.includes('/_msearch')) return { status: 403, body: { error: { type: 'security_exception' } } }
    return { body: path.includes('/_msearch') ? { responses: searchesIn(body).map(responseTo) } : responseTo(body) }
  })
  const node = await cluster.start()
  try {
    const index = new OpenSearchIndex({
      cluster: new Cluster({ nodes: [node] }),
      alias: 'tidemark-1',
      comparedMax: 10,
    })
    const kinds = async (): Promise<string[]> => {
      cluster.requests.length = 0
      const page = await index.vector(request)
      assert.deepEqual(page, { outcome: 'found', hits: [], vectorsPending: false })
      const searches = cluster.requests.filter((body) => kindOf(body) !== 'mapping')
      return searches.map((body) => searchesIn(body).map(kindOf).join(' and '))
    }
    assert.deepEqual(await kinds(), ['count', 'graph', 'compare'])
    assert.deepEqual(await kinds(), ['count and graph', 'compare'])
    isRefused = true
    assert.deepEqual((await kinds()).toSorted(), ['compare', 'count', 'count and graph', 'graph'])
    isRefused = false
    comparable = 10
    assert.deepEqual(await kinds(), ['count and graph', 'compare all'])
    assert.deepEqual(await kinds(), ['count', 'compare all'])
  } finally {
    cluster.stop()
  }
})
