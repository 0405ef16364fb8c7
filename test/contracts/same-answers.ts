import assert from 'node:assert/strict'
import fc from 'fast-check'
import { listedNames } from '../../src/document/rows.ts'
import type { SearchIndex } from '../../src/indexing/fed-index.ts'
import {
  type ChunkScore,
  type DocumentHit,
  type EnoughNear,
  type KeywordRequest,
  noFilters,
  type ValuesOutcome,
  type ValuesRequest,
} from '../../src/search/search-index.ts'
import * as random from './random-changes.ts'

/** Parameters for every kind of request of the port, for two indexes with the same content. */
export type RandomRequests = Pick<KeywordRequest, 'query' | 'scope' | 'filters'> &
  Required<Pick<KeywordRequest, 'order' | 'conditions' | 'facets'>> & {
    vector: number[]
    values: Pick<ValuesRequest, 'field' | 'prefix' | 'limit'>[]
  }

export const randomRequests = fc.record({
  query: random.query,
  scope: fc.oneof(fc.constant(random.wholeScope), random.scope),
  filters: random.filters,
  vector: random.vector(130),
  order: random.order,
  conditions: random.conditions,
  facets: random.facets,
  values: fc.array(
    fc.record({
      field: fc.constantFrom(...listedNames),
      prefix: fc.constantFrom('', '', 'd', 'x', 'ÿ', 'q'),
      limit: fc.integer({ min: 1, max: 3 }),
    }),
    { maxLength: 2 },
  ),
})
const timeoutMs = 60_000

/** Every chunk of a result in one list, ordered by score as far as it is significant, then by id. */
function allChunks(hits: readonly DocumentHit[]) {
  return hits
    .flatMap((hit) => [hit, ...hit.otherChunks].map((chunk) => ({ ...chunk, documentId: hit.documentId })))
    .map(({ documentId, versionId, chunkId, score }) => ({ documentId, versionId, chunkId, score }))
    .sort((a, b) =>
      a.documentId < b.documentId ? -1 : a.documentId > b.documentId ? 1 : a.chunkId < b.chunkId ? -1 : 1,
    )
}

/** Whether two scores are equal within a tolerance, which is relative for an adapter that computes with floats. */
export type IsSameScore = (actual: number, expected: number) => boolean
const isSameScore: IsSameScore = (actual, expected) => Math.abs(actual - expected) < 1e-6
export const isSameFloat: IsSameScore = (actual, expected) => Math.abs(actual - expected) < 1e-6 * Math.max(1, expected)

/** Compares scores within their tolerance, and everything else exactly. */
function assertSameChunks(actual: readonly DocumentHit[], expected: readonly DocumentHit[], isSame: IsSameScore): void {
  const found = allChunks(actual)
  const wanted = allChunks(expected)
  assert.deepEqual(
    found.map(({ score, ...chunk }) => chunk),
    wanted.map(({ score, ...chunk }) => chunk),
  )
  found.forEach(({ score }, i) => {
    assert.ok(isSame(score, wanted[i]!.score), `${score} for ${wanted[i]!.score}`)
  })
}

/**
 * Checks the order by the scores of the index itself, because sums in another order may differ in their last bits.
 */
function assertOrdered(hits: readonly DocumentHit[]): void {
  const ranked = hits.map(({ documentId, score }) => ({ id: documentId, score }))
  const chunks = hits.map((hit) => [hit, ...hit.otherChunks].map(({ chunkId, score }) => ({ id: chunkId, score })))
  for (const list of [ranked, ...chunks]) {
    for (let i = 1; i < list.length; i++) {
      const [before, after] = [list[i - 1]!, list[i]!]
      assert.ok(before.score > after.score || (before.score === after.score && before.id < after.id))
    }
  }
  assert.equal(new Set(hits.map((hit) => hit.documentId)).size, hits.length)
}

export async function assertSameAnswers(
  actual: SearchIndex,
  expected: SearchIndex,
  requests: RandomRequests,
  isSame: IsSameScore = isSameScore,
): Promise<void> {
  const { scope, filters } = requests
  const request: KeywordRequest = {
    query: requests.query,
    scope,
    filters,
    limit: 100,
    after: null,
    otherChunksMax: 100,
    timeoutMs,
  }
  const [found, wanted] = [await actual.keyword(request), await expected.keyword(request)]
  assert.ok(found.outcome === 'found' && wanted.outcome === 'found')
  assert.equal(found.totalChunks, wanted.totalChunks)
  assertSameChunks(found.hits, wanted.hits, isSame)
  assertOrdered(found.hits)

  const { order, conditions, facets } = requests
  const orderedRequest = { ...request, order, conditions, facets }
  const [ordered, wantedOrdered] = [await actual.keyword(orderedRequest), await expected.keyword(orderedRequest)]
  assert.ok(ordered.outcome === 'found' && wantedOrdered.outcome === 'found')
  assert.deepEqual(
    [ordered.totalChunks, ordered.facets, ordered.next],
    [wantedOrdered.totalChunks, wantedOrdered.facets, wantedOrdered.next],
  )
  assertSameChunks(ordered.hits, wantedOrdered.hits, isSame)
  if (order === 'relevance') assertOrdered(ordered.hits)
  else assert.deepEqual(idsOf(ordered.hits), idsOf(wantedOrdered.hits))
  const pages: DocumentHit[] = []
  for (let after: KeywordRequest['after'] = null; ; ) {
    const page = await actual.keyword({ ...orderedRequest, limit: 3, after })
    assert.ok(page.outcome === 'found')
    assert.deepEqual(page.facets, ordered.facets)
    pages.push(...page.hits)
    assert.ok(pages.length <= ordered.hits.length)
    after = page.next
    if (after === null) break
  }
  assert.deepEqual(pages, ordered.hits)
  for (const { field, prefix, limit } of requests.values) {
    let after: string | null = null
    do {
      const listing: ValuesRequest = { scope, field, prefix, after, limit, timeoutMs }
      const page: ValuesOutcome = await actual.values(listing)
      assert.deepEqual(page, await expected.values(listing))
      after = page.outcome === 'found' ? page.next : null
    } while (after !== null)
  }

  const paged: DocumentHit[] = []
  for (let after: KeywordRequest['after'] = null, pages = 0; pages === 0 || after !== null; pages++) {
    const page = await actual.keyword({ ...request, limit: 2, after })
    assert.ok(page.outcome === 'found')
    assert.equal(page.totalChunks, found.totalChunks)
    paged.push(...page.hits)
    after = page.next
    assert.ok(pages < 100)
  }
  assert.deepEqual(paged, found.hits)

  for (const { profileId, dimensions } of random.profiles) {
    const vector = requests.vector.slice(0, dimensions)
    const near = { profileId, vector, scope, filters, topK: 5, timeoutMs }
    const [nearFound, nearWanted] = [await actual.vector(near), await expected.vector(near)]
    assert.ok(nearFound.outcome === 'found' && nearWanted.outcome === 'found')
    assertSameScores(nearFound.hits, nearWanted.hits)
    assert.equal(nearFound.vectorsPending, nearWanted.vectorsPending)
    for (const enough of [1, 2, 4].flatMap((documents) => [0, 3].map((chunks) => ({ chunks, documents })))) {
      const few = await actual.vector({ ...near, enough })
      assert.ok(few.outcome === 'found')
      assert.deepEqual(nearer(few.hits, enough), nearer(nearFound.hits, enough))
    }
    // This repeats while the index changes, because a cached count must not be returned for a later state.
    const always = { ...near, scope: random.wholeScope, filters: noFilters }
    const [pending, wantedPending] = [await actual.vector(always), await expected.vector(always)]
    assert.ok(pending.outcome === 'found' && wantedPending.outcome === 'found')
    assert.equal(pending.vectorsPending, wantedPending.vectorsPending)
    for (const [after, limit, languages] of [
      [null, 3, null],
      [null, 100, null],
      [null, 2, ['en']],
      ['doc4', 100, null],
      ['doc4', 100, ['fr', 'de']],
    ] as const) {
      const listing = { profileId, languages, after, limit, timeoutMs }
      assert.deepEqual(await actual.withoutVector(listing), await expected.withoutVector(listing))
    }
    // Each vector has its own filters.
    const vectors = [filters, noFilters].map((own) => ({ profileId, vector, filters: own }))
    const documentIds = ['doc3', 'doc0', 'nothing', 'doc9']
    const scoring = { query: requests.query, vectors, scope, filters, timeoutMs }
    const [scores, wantedScores] = [
      await actual.score({ ...scoring, documentIds }),
      await expected.score({ ...scoring, documentIds }),
    ]
    assert.ok(scores.outcome === 'found' && wantedScores.outcome === 'found')
    scores.scores.forEach((score, i) => {
      const wantedScore = wantedScores.scores[i]!
      assert.equal(score.documentId, wantedScore.documentId)
      const [ours, theirs] = [score, wantedScore].map(({ keyword, vectors }) => [keyword, ...vectors])
      assert.equal(ours!.length, 3)
      for (const [kind, one] of ours!.entries()) assert.ok(isSame(one?.score ?? -9, theirs![kind]?.score ?? -9))
    })
  }
}

/** All hits that are nearer than the last of this many chunks, or of this many documents if that is farther. */
function nearer(hits: readonly DocumentHit[], { chunks, documents }: EnoughNear): DocumentHit[] {
  const all = hits.flatMap(({ score, otherChunks }) => [score, ...otherChunks.map((chunk) => chunk.score)])
  const lastChunk = chunks === 0 ? 1 : (all.sort((a, b) => b - a)[chunks - 1] ?? -1)
  const farthest = Math.min(lastChunk, hits[documents - 1]?.score ?? -1)
  const isNearer = ({ score }: ChunkScore): boolean => score > farthest
  return hits.filter(isNearer).map((hit) => ({ ...hit, otherChunks: hit.otherChunks.filter(isNearer) }))
}

/** Compares only scores, because ties at the end of the list may be cut off differently. */
function assertSameScores(actual: readonly DocumentHit[], expected: readonly DocumentHit[]): void {
  const scores = (hits: readonly DocumentHit[]) =>
    hits.flatMap((hit) => [hit.score, ...hit.otherChunks.map((chunk) => chunk.score)]).sort((a, b) => b - a)
  const [found, wanted] = [scores(actual), scores(expected)]
  assert.equal(found.length, wanted.length)
  found.forEach((score, i) => {
    assert.ok(Math.abs(score - wanted[i]!) < 1e-6)
  })
}

const idsOf = (hits: readonly DocumentHit[]) => hits.map(({ documentId }) => documentId)
