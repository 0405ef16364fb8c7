import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everything, queryOf, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { mappingOf, ToldCluster, whole } from '../../../test/support/told-cluster.ts'
import { noFilters } from '../../search/search-index.ts'
import { Cluster } from './cluster.ts'
import { OpenSearchIndex } from './opensearch-index.ts'

const request = { profileId: 'p', vector: [1, 0], scope: everything, filters: noFilters, topK: 5, timeoutMs }

const kindOf = (body: string): string => {
  if (body === '') return 'mapping'
  if (body.includes('"knn":{')) return 'graph'
  return body.includes('knn_score') ? (body.includes('"id":["d1"]') ? 'compare' : 'compare all') : 'count'
}

/** One, or every second line of those that are asked together. */
const searchesIn = (body: string): string[] =>
  body.includes('\n') ? body.split('\n').filter((_, i) => i % 2 === 1) : [body]

test('where there were many to compare, the graph is asked together with the count, or beside it where that is refused; the count decides', async () => {
  let comparable = 11
  let isRefused = false
  const cluster = new ToldCluster(async (path, body) => {
    const told = (asked: string) => {
      const kind = kindOf(asked)
      if (kind === 'graph') return { ...whole, hits: { hits: [{ fields: { id: ['d1'] } }] } }
      const having = { doc_count: comparable }
      const aggregations = { chunks: { visible: { having, words: { ...having, having } } } }
      return kind === 'count' ? { ...whole, aggregations } : whole
    }
    if (kindOf(body) === 'mapping') return mappingOf({ p: 2 })
    if (isRefused && path.includes('/_msearch')) return { status: 403, body: { error: { type: 'no_right' } } }
    return { body: path.includes('/_msearch') ? { responses: searchesIn(body).map(told) } : told(body) }
  })
  const node = await cluster.start()
  try {
    const index = new OpenSearchIndex({
      cluster: new Cluster({ nodes: [node] }),
      alias: 'tidemark-1',
      comparedMax: 10,
    })
    const kinds = async (): Promise<string[]> => {
      cluster.asked.length = 0
      const page = await index.vector(request)
      assert.deepEqual(page, { outcome: 'found', hits: [], vectorsPending: false })
      const asked = cluster.asked.filter((body) => kindOf(body) !== 'mapping')
      return asked.map((body) => searchesIn(body).map(kindOf).join(' and '))
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

test('what words give to the nearest is asked for beside comparing them; where that fails, it is not told', async () => {
  let doesFail = false
  const query = queryOf('word')
  const chunk = (score: number, version = 'v1') => ({ fields: { 'chunks.version': [version] }, sort: [score, 'c1'] })
  const hit = (id: string, score: number) => ({
    ...{ fields: { id: [id] }, sort: [score, id] },
    inner_hits: { chunks: { hits: { hits: [chunk(score)] } } },
  })
  const counts = { doc_count: 2, title: { value: 1 }, body: { value: 1 }, found: { buckets: [{ doc_count: 1 }] } }
  const having = { doc_count: 11 }
  const visible = { having, words: { ...having, having } }
  const aggregations = { chunks: { class0: counts, found: { doc_count: 1 }, visible } }
  const compared = { ...whole, hits: { hits: [hit('d1', 1), hit('d2', 0.75)] } }
  const cluster = new ToldCluster((path, body) => {
    if (path.includes('/_mapping')) return mappingOf({ p: 2 })
    if (path.includes('/_msearch')) {
      if (body.includes('"aggs"')) return { body: { responses: [{ ...whole, aggregations }, compared] } }
      const words = doesFail ? { error: { type: 'too_many_clauses' }, status: 400 } : whole
      return { body: { responses: [compared, { ...words, hits: { hits: [hit('d2', 3)] } }] } }
    }
    return { body: body.includes('knn') ? compared : { ...whole, aggregations } }
  })
  const node = await cluster.start()
  try {
    const index = new OpenSearchIndex({
      cluster: new Cluster({ nodes: [node] }),
      alias: 'tidemark-1',
      comparedMax: 10,
    })
    const wordsOfHits = async () => {
      cluster.asked.length = 0
      const page = await index.vector({ ...request, words: { query, filters: noFilters } })
      assert.ok(page.outcome === 'found')
      assert.deepEqual(
        page.hits.map(({ documentId, score }) => [documentId, score]),
        [
          ['d1', 1],
          ['d2', 0.5],
        ],
      )
      return page.hits.map(({ words }) => words)
    }
    assert.deepEqual(await wordsOfHits(), [undefined, undefined])
    const byWords = {
      query,
      scope: everything,
      filters: noFilters,
      limit: 0,
      after: null,
      otherChunksMax: 0,
      timeoutMs,
    }
    assert.equal((await index.keyword(byWords)).outcome, 'found')
    assert.deepEqual(await wordsOfHits(), [null, { chunkId: 'c1', versionId: 'v1', score: 3 }])
    assert.equal(cluster.asked.length, 2)
    doesFail = true
    assert.deepEqual(await wordsOfHits(), [undefined, undefined])
  } finally {
    cluster.stop()
  }
})
