import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { defaultCosines } from '../../embedding/embedder.ts'
import type { SearchIndex } from '../../indexing/fed-index.ts'
import { noFilters, type ScoreRequest, type VectorRequest } from '../search-index.ts'
import { findNearest, meanOf, nearQueries, type QueryVector } from './nearest.ts'

const high = { unrelated: 0.72, related: 0.92 }
const vector = Float32Array.of(1)
const main: QueryVector = { profileId: 'main', vector, cosines: high, languages: null, isStandIn: false }
const english: QueryVector = { profileId: 'en', vector, cosines: defaultCosines, languages: ['en'], isStandIn: false }
const before: QueryVector = { ...english, profileId: 'before', languages: null, isStandIn: true }
const search = { scope: { entries: [] }, filters: noFilters, timeoutMs: 1000 }

interface Given {
  readonly id: string
  readonly language: string
  /** Cosines by profile. */
  readonly near: Readonly<Record<string, number>>
}

/** An index over documents with one chunk for each profile and given cosines. */
function indexOver(given: readonly Given[]): SearchIndex {
  const visible = (filters: VectorRequest['filters'], { language }: Given) =>
    filters.languages?.includes(language) ?? true
  const chunk = (profileId: string, { id, near }: Given) =>
    near[profileId] === undefined ? null : { chunkId: `${id}-${profileId}`, versionId: id, score: near[profileId] }
  return {
    vector: async ({ profileId, filters, topK }: VectorRequest) => ({
      outcome: 'found',
      hits: given
        .filter((one) => visible(filters, one))
        .flatMap((one) => {
          const found = chunk(profileId, one)
          return found === null ? [] : { documentId: one.id, ...found, otherChunks: [] }
        })
        .sort((a, b) => b.score - a.score)
        .slice(0, topK),
      vectorsPending: profileId === 'main',
    }),
    score: async ({ documentIds, vectors }: ScoreRequest) => ({
      outcome: 'found',
      scores: documentIds.map((documentId) => {
        const one = given.find(({ id }) => id === documentId)!
        const near = vectors.map(({ profileId, filters }) => (visible(filters, one) ? chunk(profileId, one) : null))
        return { documentId, keyword: null, vectors: near }
      }),
    }),
  } as unknown as SearchIndex
}

async function found(given: readonly Given[], vectors: readonly QueryVector[], topK = 10, filters = noFilters) {
  const page = await findNearest(indexOver(given), vectors, { ...search, filters }, { topK })
  assert.ok(page.outcome === 'found')
  assert.ok(page.vectorsPending)
  return page.hits.map(({ documentId, score, chunkId }) => `${documentId} ${score.toFixed(3)} ${chunkId}`)
}

suite('the nearest documents by several profiles', () => {
  const given: Given[] = [
    { id: 'a', language: 'en', near: { main: 0.82, en: 0.8, before: 0.1 } },
    { id: 'b', language: 'en', near: { main: 0.86, en: 0.4 } },
    { id: 'c', language: 'zh', near: { main: 0.85, en: 0.79 } },
    { id: 'd', language: 'en', near: { en: 0.6 } },
    { id: 'e', language: 'en', near: { before: 0.7 } },
  ]

  test('with one profile, returns the result of the index', async () => {
    assert.deepEqual(await found(given, [main]), ['b 0.860 b-main', 'c 0.850 c-main', 'a 0.820 a-main'])
  })

  test('with one profile, removes hits beyond `enough`', async () => {
    const enough = async (chunks: number, documents: number) => {
      const page = await findNearest(indexOver(given), [main], search, { topK: 10, enough: { chunks, documents } })
      return page.outcome === 'found' ? page.hits.map(({ documentId }) => documentId) : null
    }
    assert.deepEqual(await enough(0, 2), ['b', 'c'])
    assert.deepEqual(await enough(2, 1), ['b', 'c'])
    assert.deepEqual(await enough(1, 9), ['b', 'c', 'a'])
  })

  test('the score is the mean on the scale of the first profile, which alone scores documents in other languages', async () => {
    assert.deepEqual(await found(given, [main, english]), [
      'a 0.870 a-main',
      'c 0.850 c-main',
      'd 0.820 d-en',
      'b 0.790 b-main',
    ])
  })

  test('a score does not depend on which profile found the document', async () => {
    const all = new Set(await found(given, [main, english]))
    for (const topK of [1, 2, 3]) {
      for (const one of await found(given, [main, english], topK)) assert.ok(all.has(one), one)
    }
    const documentIds = given.map(({ id }) => id)
    const near = nearQueries([main, english], noFilters)
    const scored = await indexOver(given).score({ ...search, documentIds, query: null, vectors: near })
    assert.ok(scored.outcome === 'found')
    for (const { documentId, vectors } of scored.scores) {
      const mean = meanOf([main, english], vectors)
      const asFound = mean === null ? null : `${documentId} ${mean.score.toFixed(3)} ${mean.chunkId}`
      assert.equal(asFound, [...all].find((one) => one.startsWith(documentId)) ?? null)
    }
  })

  test('a stand-in profile only counts for documents without another vector', async () => {
    assert.deepEqual(await found(given, [main, before]), [
      'e 0.870 e-before',
      'b 0.860 b-main',
      'c 0.850 c-main',
      'a 0.820 a-main',
    ])
  })

  test('a profile does not widen the languages of the request', async () => {
    const filters = { ...noFilters, languages: ['zh'] }
    assert.deepEqual(await found(given, [main, english], 10, filters), ['c 0.850 c-main'])
  })

  test('fails if one of its requests fails', async () => {
    const index = { ...indexOver(given), score: async () => ({ outcome: 'timed_out' }) } as unknown as SearchIndex
    assert.deepEqual(await findNearest(index, [main, english], search, { topK: 10 }), { outcome: 'timed_out' })
  })
})
