import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../src/access/scope.ts'
import type { DocumentColumns } from '../../src/indexing/fed-index.ts'
import { noFilters, type SearchFilters } from '../../src/search/search-index.ts'
import { columns, entry, everything, type IndexUnderTest, ids, put, queryOf, timeoutMs } from './index-under-test.ts'

/** Search by vectors, and scores of given documents. */
export function vectorsExamples(it: () => IndexUnderTest): void {
  test('vectors: cosine scores, late vectors, several profiles of different sizes', async () => {
    await it().start(
      put('d1', ['a', 'b'], {
        vectors: [
          [1, 0, 0],
          [0, 2, 0],
        ],
      }),
      put('d2', ['word']),
    )
    assert.deepEqual(ids(await it().near([1, 0.1, 0])), ['d1'])
    await it().apply({ kind: 'set_vector', documentId: 'd2', chunkId: 'd2 v1 0', profileId: 'p', vector: [9, 9, 0] })
    const hits = await it().near([1, 1, 0])
    assert.deepEqual(ids(hits), ['d2', 'd1'])
    assert.ok(Math.abs(hits[0]!.score - 1) < 1e-6)
    assert.ok(Math.abs(hits[1]!.score - Math.SQRT1_2) < 1e-6)
    assert.deepEqual(
      hits[1]!.otherChunks.map(({ chunkId }) => chunkId),
      ['d1 v1 1'],
    )
    assert.deepEqual(ids(await it().near([1, 1, 0], everything, noFilters, 1)), ['d2'])
    await it().apply({ kind: 'set_vector', documentId: 'd2', chunkId: 'd2 v1 0', profileId: 'q', vector: [1, 2] })
    const other = await it().index.vector({
      profileId: 'q',
      vector: [2, 4],
      scope: everything,
      filters: noFilters,
      topK: 5,
      timeoutMs,
    })
    assert.ok(other.outcome === 'found' && Math.abs(other.hits[0]!.score - 1) < 1e-6)
    const { profiles } = await it().index.health()
    assert.deepEqual(
      profiles.map(({ profileId, dimensions, chunks }) => [profileId, dimensions, chunks]),
      [
        ['p', 3, 3],
        ['q', 2, 1],
      ],
    )
  })

  test('vectors that cannot be compared are left out, and find nothing as queries', async () => {
    await it().start(
      put('d1', ['word'], { vectors: [[1, 0]] }),
      put('d2', ['word'], { vectors: [[0, 0]] }),
      put('d3', ['word'], { vectors: [[1, 2, 3]] }),
      put('d4', ['word'], { vectors: [[Number.NaN, 1]] }),
    )
    assert.deepEqual(ids(await it().near([1, 1])), ['d1'])
    for (const vector of [[0, 0], [1, 2, 3], [], [Number.POSITIVE_INFINITY, 1]])
      assert.deepEqual(await it().near(vector), [])
    const unknown = await it().index.vector({
      profileId: '?',
      vector: [1, 1],
      scope: everything,
      filters: noFilters,
      topK: 5,
      timeoutMs,
    })
    assert.deepEqual(unknown, { outcome: 'found', hits: [], vectorsPending: true })
    assert.equal((await it().found('word')).length, 4)
  })

  test('vectorsPending is set if more than 1 % of the visible chunks have no vector; hidden chunks do not count', async () => {
    const pending = async (scope: Scope = everything, filters: SearchFilters = noFilters) => {
      const page = await it().index.vector({ profileId: 'p', vector: [1, 0], scope, filters, topK: 5, timeoutMs })
      assert.ok(page.outcome === 'found')
      return page.vectorsPending
    }
    const withoutVector = (name: string, columns: Partial<DocumentColumns> = {}) => put(name, ['word'], { columns })
    const withVector = (name: string, columns: Partial<DocumentColumns> = {}) =>
      put(name, ['word'], { columns, vectors: [[1, 0]] })
    const numbered = (count: number) => Array.from({ length: count }, (_, i) => `has ${i}`)
    await it().start(
      ...numbered(198).map((name) => withVector(name)),
      withoutVector('lacks 1'),
      withoutVector('lacks 2'),
      // Neither empty bodies nor hidden chunks count.
      put('title', [''], { title: 'word' }),
      ...numbered(20).map((name) => withoutVector(`hidden ${name}`, { datasetId: 'hidden' })),
    )
    assert.equal(await pending(), false)
    await it().apply(withoutVector('lacks 3'))
    assert.equal(await pending(), true)
    // Also by filters, by a time, and by the readable fields of a document.
    const at = (publishedFrom: number) => ({ ...noFilters, publishedFrom })
    await it().apply(withVector('later', { publishedAt: 2000 }), withoutVector('lacks 3', { publishedAt: 2000 }))
    assert.deepEqual([await pending(everything, at(1500)), await pending(everything, at(2500))], [true, false])
    assert.equal(await pending({ entries: [{ ...entry, fields: ['title'] }] }), false)
    const vector = { kind: 'set_vector', profileId: 'p', vector: [1, 1] } as const
    await it().apply({ ...vector, documentId: 'lacks 3', chunkId: 'lacks 3 v1 0' })
    assert.equal(await pending(), false)
    await it().apply(withoutVector('lacks 4', { publishedAt: 2000 }), {
      kind: 'retire_document',
      documentId: 'lacks 4',
    })
    assert.equal(await pending(), false)
    await it().apply(withoutVector('hidden has 1', { datasetId: 'blogs' }))
    assert.equal(await pending(), true)
  })

  test('chunks without a vector are listed by whole documents, ordered by id', async () => {
    const listed = async (limit: number, profileId = 'p', languages: readonly string[] | null = null) => {
      const pages: string[][] = []
      for (let after: string | null = null; ; ) {
        const page = await it().index.withoutVector({ profileId, languages, after, limit, timeoutMs })
        assert.ok(page.outcome === 'found')
        assert.deepEqual(
          page.chunks.map(({ chunkId }) => chunkId.slice(0, 2)),
          page.chunks.map(({ documentId }) => documentId),
        )
        pages.push(page.chunks.map(({ chunkId }) => chunkId))
        after = page.next
        if (after === null) return pages
      }
    }
    await it().start()
    assert.deepEqual(await listed(10), [[]])
    await it().apply(put('d4', ['word'], { columns: { datasetId: 'hidden' } }), put('d2', ['word', '', 'word']))
    await it().apply(put('d1', ['word', 'word'], { vectors: [[1, 0]] }), put('d5', ['word'], { current: false }))
    await it().apply(put('d3', ['word'], { vectors: [[1, 0]] }), put('d0', ['']))
    const all = ['d0 v1 0', 'd1 v1 1', 'd2 v1 0', 'd2 v1 1', 'd2 v1 2', 'd4 v1 0', 'd5 v1 0']
    assert.deepEqual(await listed(100), [all])
    assert.deepEqual(await listed(7), [all])
    assert.deepEqual(await listed(4), [all.slice(0, 5), all.slice(5)])
    assert.deepEqual(await listed(2), [all.slice(0, 2), all.slice(2, 5), all.slice(5)])
    assert.deepEqual(await listed(1), [[all[0]], [all[1]], all.slice(2, 5), [all[5]], [all[6]]])
    assert.equal((await listed(100, '?'))[0]!.length, 9)
    const vector = { kind: 'set_vector', profileId: 'p', vector: [1, 1] } as const
    await it().apply({ ...vector, documentId: 'd4', chunkId: 'd4 v1 0' }, { kind: 'retire_document', documentId: 'd5' })
    await it().apply({ kind: 'set_columns', documentId: 'd2', columns })
    assert.deepEqual(await listed(100), [all.slice(0, 5)])
    const [german, french, without] = ['de', 'fr', null].map((language) => ({ columns: { language } }))
    await it().apply(put('d6', ['word'], german), put('d7', ['word'], french), put('d8', ['word'], without))
    await it().apply(put('d9', ['word', 'word'], german))
    assert.deepEqual(await listed(100, 'p', ['de']), [['d6 v1 0', 'd9 v1 0', 'd9 v1 1']])
    assert.deepEqual(await listed(1, 'p', ['fr', 'de']), [['d6 v1 0'], ['d7 v1 0'], ['d9 v1 0', 'd9 v1 1']])
    assert.deepEqual(await listed(1, 'p', ['it']), [[]])
  })

  test('given documents are scored as a search would score them', async () => {
    await it().start(
      put('d1', ['word here', 'word word'], {
        vectors: [
          [1, 0],
          [0, 1],
        ],
      }),
      put('d2', ['other'], { vectors: [[1, 1]] }),
      put('d3', ['word'], { columns: { datasetId: 'hidden' }, vectors: [[1, 0]] }),
    )
    const outcome = await it().index.score({
      documentIds: ['d2', 'd1', 'd3', 'd9'],
      query: queryOf('word'),
      vectors: [{ profileId: 'p', vector: [1, 0], filters: noFilters }],
      scope: everything,
      filters: noFilters,
      timeoutMs,
    })
    assert.ok(outcome.outcome === 'found')
    const [d2, d1, d3, d9] = outcome.scores
    const hit = (await it().find('word')).hits[0]!
    assert.equal(d1!.keyword!.chunkId, hit.chunkId)
    assert.ok(Math.abs(d1!.keyword!.score - hit.score) < 1e-9)
    assert.equal(d1!.vectors[0]!.chunkId, 'd1 v1 0')
    assert.ok(Math.abs(d1!.vectors[0]!.score - 1) < 1e-6)
    assert.equal(d2!.keyword, null)
    assert.ok(Math.abs(d2!.vectors[0]!.score - Math.SQRT1_2) < 1e-6)
    assert.deepEqual([d3!.keyword, d3!.vectors, d9!.keyword, d9!.vectors], [null, [null], null, [null]])
  })
}
