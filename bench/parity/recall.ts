import { randomBytes } from 'node:crypto'
import { OpenSearchHome } from '../../src/storage/opensearch/opensearch-home.ts'
import { drawVector, randomFrom } from '../index/corpus.ts'
import { feedVectors, hardQueries, type RecallVectors, showRecall, vectorsOfFile } from '../index/recall.ts'

/**
 * Recall of the cluster's vectors against an exact scan: as searches are answered, and by the graph alone, which is asked
 * only where more is visible than is compared one by one. `source` is a file of vectors, or how many are to be made up.
 */
export async function recallInCluster(source: string, nodes: readonly string[], queries: number): Promise<void> {
  const vectors = /^\d+$/.test(source) ? madeUp(Number(source)) : vectorsOfFile(source)
  const prefix = `bench-${randomBytes(4).toString('hex')}`
  const options = { nodes, prefix, origin: { rules: 'bench', instance: 'bench' }, graceMs: 0 }
  const home = new OpenSearchHome(options)
  try {
    const index = await home.open()
    const startedMs = performance.now()
    await feedVectors(index, vectors)
    const perSecond = vectors.documents.length / ((performance.now() - startedMs) / 1000)
    console.log(`fed ${perSecond.toFixed(0)} vectors a second`)
    const graph = await new OpenSearchHome({ ...options, comparedMax: 0 }).open()
    await showRecall({ 'as it is': index, 'graph alone': graph }, vectors, queries)
  } finally {
    await home.remove()
  }
}

/** Around 2,000 centres, as far from them as these are from each other. */
function madeUp(count: number): RecallVectors {
  const random = randomFrom(3)
  const documents = Array.from({ length: count }, () => drawVector(random))
  const near = Array.from({ length: 100 }, () => drawVector(random))
  return { documents, queries: { 'around the centres': near, ...hardQueries(documents) } }
}
