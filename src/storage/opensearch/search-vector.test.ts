import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everything, timeoutMs } from '../../../test/contracts/index-under-test.ts'
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

test('where there were many to compare, the graph is asked beside the count, which decides', async () => {
  let comparable = 11
  let doesCountWait = false
  const asksGraph = Promise.withResolvers<void>()
  const cluster = new ToldCluster(async (_, body) => {
    const kind = kindOf(body)
    if (kind === 'mapping') return mappingOf({ p: 2 })
    if (kind === 'graph') asksGraph.resolve()
    if (kind === 'graph') return { body: { ...whole, hits: { hits: [{ fields: { id: ['d1'] } }] } } }
    if (kind !== 'count') return { body: whole }
    if (doesCountWait) await asksGraph.promise
    const having = { doc_count: comparable }
    return { body: { ...whole, aggregations: { chunks: { visible: { having, words: { ...having, having } } } } } }
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
      return cluster.asked.map(kindOf).filter((kind) => kind !== 'mapping')
    }
    assert.deepEqual(await kinds(), ['count', 'graph', 'compare'])
    doesCountWait = true
    assert.deepEqual((await kinds()).toSorted(), ['compare', 'count', 'graph'])
    comparable = 10
    assert.deepEqual((await kinds()).toSorted(), ['compare all', 'count', 'graph'])
    assert.deepEqual(await kinds(), ['count', 'compare all'])
  } finally {
    cluster.stop()
  }
})
