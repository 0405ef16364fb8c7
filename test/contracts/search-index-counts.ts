import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ScopeEntry } from '../../src/access/scope.ts'
import type { Conditions } from '../../src/document/field-types.ts'
import type { Facet } from '../../src/search/facets.ts'
import {
  type KeywordOrder,
  type KeywordRequest,
  keywordOrders,
  noFilters,
  type ValuesRequest,
} from '../../src/search/search-index.ts'
import { columns, entry, everything, type IndexUnderTest, ids, put, timeoutMs } from './index-under-test.ts'

const day = 86_400_000

/** Conditions, orders, counts, and lists of values, which apply to documents. */
export function countsExamples(it: () => IndexUnderTest): void {
  const counts = async (of: readonly Facet[], request: Partial<KeywordRequest> = {}, limit = 100) => {
    const { facets } = await it().find('word', { ...request, facets: { of, limit } })
    return facets!.map((counted) => counted.map(({ value, count }) => `${value} ${count}`))
  }
  const values = async (request: Partial<ValuesRequest>) => {
    const defaults = { scope: everything, field: 'topics', prefix: '', after: null, limit: 100, timeoutMs } as const
    const page = await it().index.values({ ...defaults, ...request })
    assert.ok(page.outcome === 'found', JSON.stringify(page))
    return page
  }

  test('conditions match exactly, with values of a list OR-ed and conditions AND-ed; a missing value meets none', async () => {
    await it().start(
      put('d1', ['word'], { columns: { externalAuthorId: 'ann', topics: ['sea', 'sky'], score: -5 } }),
      put('d2', ['word', 'word'], { columns: { externalAuthorId: 'bob', topics: ['Sea'], tags: ['sea'], score: 5 } }),
      put('d3', ['word'], { columns: { classifications: ['sea'], tags: ['sky', 'a,b'] } }),
    )
    const met = async (conditions: Conditions) => {
      const page = await it().find('word', { conditions })
      assert.equal(page.totalChunks, page.hits.length + (ids(page.hits).includes('d2') ? 1 : 0))
      return ids(page.hits).sort()
    }
    assert.deepEqual(await met({}), ['d1', 'd2', 'd3'])
    assert.deepEqual(await met({ externalAuthorId: ['ann'] }), ['d1'])
    assert.deepEqual(await met({ externalAuthorId: ['nobody'] }), [])
    assert.deepEqual(await met({ topics: ['sea'] }), ['d1'])
    assert.deepEqual(await met({ topics: ['sea', 'Sea', 'other'] }), ['d1', 'd2'])
    assert.deepEqual(await met({ topics: [] }), [])
    assert.deepEqual(await met({ tags: ['sea'], topics: ['Sea'] }), ['d2'])
    assert.deepEqual(await met({ tags: ['a,b'] }), ['d3'])
    assert.deepEqual(await met({ tags: ['word'] }), [])
    assert.deepEqual(await met({ classifications: ['sea'] }), ['d3'])
    assert.deepEqual(await met({ score: { min: -5, max: null } }), ['d1', 'd2'])
    assert.deepEqual(await met({ score: { min: -5, max: 4 } }), ['d1'])
    assert.deepEqual(await met({ score: { min: null, max: 5 } }), ['d1', 'd2'])
    assert.deepEqual(await met({ externalAuthorId: ['ann'], score: { min: 0, max: null } }), [])
  })

  test('order: by time and by score, documents without one last, ties by id, over all pages', async () => {
    await it().start(
      put('c', ['word'], { columns: { publishedAt: 30, score: null } }),
      put('a', ['word word word'], { columns: { publishedAt: 10, score: 7 } }),
      put('b', ['word'], { columns: { publishedAt: null, score: -3 } }),
      put('e', ['word', 'word word'], { columns: { publishedAt: 10, score: 7 } }),
      put('d', ['word'], { columns: { publishedAt: null, score: null } }),
      put('f', ['word'], { columns: { publishedAt: Date.parse('0001-01-01T00:00:00Z'), score: 0 } }),
    )
    const expected: Record<Exclude<KeywordOrder, 'relevance'>, string> = {
      published_at: 'faecbd',
      '-published_at': 'caefbd',
      '-score': 'aefbcd',
    }
    const relevance = await it().find('word')
    const scores = new Map(relevance.hits.map((hit) => [hit.documentId, hit]))
    for (const order of keywordOrders) {
      const wanted = order === 'relevance' ? ids(relevance.hits).join('') : expected[order]
      for (const limit of [1, 2, 4, 100]) {
        let found = ''
        for (let after: KeywordRequest['after'] = null; ; ) {
          const page = await it().find('word', { order, limit, after })
          found += ids(page.hits).join('')
          // The hits and their scores do not depend on the order.
          for (const hit of page.hits) assert.deepEqual(hit, scores.get(hit.documentId))
          assert.equal(page.totalChunks, 7)
          after = page.next
          if (after === null) break
        }
        assert.equal(found, wanted, `${order} by ${limit}`)
      }
    }
  })

  test('facets count every match once for each value, on any page, the most frequent first', async () => {
    await it().start(
      put('d1', ['word', 'word', 'other'], { columns: { topics: ['x', 'y'], tags: ['t'], externalAuthorId: 'ann' } }),
      put('d2', ['word'], { columns: { topics: ['y', 'é'], language: 'fr', platform: 'app', region: null } }),
      put('d3', ['word'], { columns: { datasetId: 'blogs', contentType: null, status: 'unavailable', topics: [] } }),
      put('d4', ['other'], { columns: { topics: ['z'], externalAuthorId: 'ann' } }),
    )
    const of = ['dataset', 'platform', 'language', 'content_type', 'region', 'status', 'topics', 'tags'] as const
    const expected = [
      ['news 2', 'blogs 1'],
      ['web 2', 'app 1'],
      ['en 2', 'fr 1'],
      ['post 2'],
      ['eu 2'],
      ['active 2', 'unavailable 1'],
      ['y 2', 'x 1', 'é 1'],
      ['t 1'],
    ]
    assert.deepEqual(await counts(of), expected)
    assert.deepEqual(await counts(of, { limit: 0 }), expected)
    assert.deepEqual(await counts(of, { limit: 1, order: '-published_at' }), expected)
    assert.deepEqual(
      await counts(of, {}, 1),
      expected.map((all) => all.slice(0, 1)),
    )
    assert.deepEqual(await counts(['author', 'classifications', 'topics'], {}, 2), [['ann 1'], [], ['y 2', 'x 1']])
    const conditions = { topics: ['x'] }
    assert.deepEqual(await counts(['topics', 'dataset'], { conditions }), [['x 1', 'y 1'], ['news 1']])
    const filters = { ...noFilters, platforms: ['app'] }
    assert.deepEqual(await counts(['topics', 'language'], { filters }), [['y 1', 'é 1'], ['fr 1']])
    const narrow = { entries: [{ ...entry, datasets: ['blogs'] }] }
    assert.deepEqual(await counts(['topics', 'dataset'], { scope: narrow }), [[], ['blogs 1']])
    assert.deepEqual(await counts(['dataset'], { query: it().request('nothing').query }), [[]])
    assert.equal((await it().find('word')).facets, undefined)
  })

  test('times are counted by day, week from Monday, and month, in UTC', async () => {
    const at = (text: string) => ({ columns: { publishedAt: Date.parse(text) } })
    await it().start(
      put('d1', ['word'], at('2026-11-15T23:59:59.999Z')),
      put('d2', ['word'], at('2026-11-16T00:00:00Z')),
      put('d3', ['word'], at('2026-11-22T12:00:00Z')),
      put('d4', ['word'], at('1969-12-31T12:00:00Z')),
      put('d5', ['word'], at('0001-01-01T00:00:00Z')),
      put('d6', ['word'], { columns: { publishedAt: null } }),
      // A time outside of any calendar must not break anything.
      put('d7', ['word'], { columns: { publishedAt: 1e200 } }),
    )
    assert.deepEqual(await counts([{ published_at: 'day' }, { published_at: 'week' }, { published_at: 'month' }]), [
      ['0001-01-01 1', '1969-12-31 1', '2026-11-15 1', '2026-11-16 1', '2026-11-22 1'],
      ['2026-11-16 2', '0001-01-01 1', '1969-12-29 1', '2026-11-09 1'],
      ['2026-11-01 3', '0001-01-01 1', '1969-12-01 1'],
    ])
  })

  test('changed columns are filtered, ordered and counted by at once', async () => {
    const of = ['topics', 'author', 'region'] as const
    await it().start(
      put('d1', ['word'], { columns: { topics: ['old'], externalAuthorId: 'ann', score: 1 } }),
      put('d2', ['word'], { columns: { score: 2 } }),
    )
    assert.deepEqual(await it().found('word', { order: '-score' }), ['d2', 'd1'])
    const changed = { ...columns, topics: ['new'], externalAuthorId: 'bob', score: 3, region: 'us' }
    await it().apply({ kind: 'set_columns', documentId: 'd1', columns: changed })
    assert.deepEqual(await counts(of), [['new 1'], ['bob 1'], ['eu 1', 'us 1']])
    assert.deepEqual(await it().found('word', { order: '-score' }), ['d1', 'd2'])
    assert.deepEqual(await it().found('word', { conditions: { topics: ['old'] } }), [])
    assert.deepEqual((await values({})).values, [{ value: 'new', count: 1 }])
    // An earlier version has the current values of its document. A retired one changes nothing.
    await it().apply(put('d1', ['word word'], { version: 'd1 v2', columns: { ...changed, topics: ['newer'] } }))
    assert.deepEqual(await counts(of, { filters: { ...noFilters, includeNonCurrent: true } }), [
      ['newer 1'],
      ['bob 1'],
      ['eu 1', 'us 1'],
    ])
    await it().apply({ kind: 'retire_version', documentId: 'd1', versionId: 'd1 v1' })
    assert.deepEqual(await counts(of), [['newer 1'], ['bob 1'], ['eu 1', 'us 1']])
    await it().apply({ kind: 'retire_document', documentId: 'd1' })
    assert.deepEqual(await counts(of), [[], [], ['eu 1']])
  })

  test('if only an earlier version may be read, no catalog value of the document is revealed', async () => {
    await it().start(
      put('d1', ['word'], { columns: { language: 'fr' } }),
      put('d2', ['word'], { columns: { language: 'fr', topics: ['open'], externalAuthorId: 'ann', score: 1 } }),
    )
    const now = {
      language: 'en',
      topics: ['closed'],
      externalAuthorId: 'bob',
      score: 9,
      tags: ['t'],
      classifications: ['c'],
    }
    await it().apply(put('d1', ['text'], { version: 'd1 v2', columns: now }))
    const request: Partial<KeywordRequest> = {
      scope: { entries: [{ ...entry, languages: ['fr'] }] },
      filters: { ...noFilters, includeNonCurrent: true },
    }
    assert.deepEqual((await it().found('word', request)).sort(), ['d1', 'd2'])
    assert.deepEqual(await counts(['topics', 'author', 'tags', 'classifications', 'language', 'dataset'], request), [
      ['open 1'],
      ['ann 1'],
      [],
      [],
      ['fr 2'],
      ['news 2'],
    ])
    assert.deepEqual(await it().found('word', { ...request, order: '-score' }), ['d2', 'd1'])
    const meeting = (conditions: Conditions) => it().found('word', { ...request, conditions })
    assert.deepEqual(await meeting({ topics: ['closed', 'open'] }), ['d2'])
    assert.deepEqual(await meeting({ score: { min: 0, max: null } }), ['d2'])
    assert.deepEqual(await meeting({ externalAuthorId: ['bob'] }), [])
    const all = { ...request, scope: everything }
    assert.deepEqual(await counts(['topics'], all), [['closed 1', 'open 1']])
  })

  test('values that an entry does not grant count as missing; one entry that grants them is enough', async () => {
    const known = { topics: ['t'], tags: ['g'], externalAuthorId: 'ann', classifications: ['c'], score: 9 }
    await it().start(
      put('d1', ['word'], { columns: { ...known, score: 1 } }),
      put('d2', ['word'], { columns: { ...known, language: 'fr' } }),
      put('d3', ['word'], { columns: { ...known, datasetId: 'blogs' } }),
    )
    const texts = { ...entry, fields: ['title', 'body'] as const }
    const scopeOf = (...entries: ScopeEntry[]) => ({ scope: { entries } })
    const of = ['topics', 'tags', 'author', 'classifications', 'dataset'] as const
    const granting = (fields: ScopeEntry['fields']) =>
      scopeOf(texts, { ...entry, datasets: ['news'], languages: ['en'], fields })
    assert.deepEqual(await counts(of, scopeOf(texts)), [[], [], [], [], ['news 2', 'blogs 1']])
    assert.deepEqual(await counts(of, granting(['metadata'])), [['t 1'], ['g 1'], ['ann 1'], [], ['news 2', 'blogs 1']])
    assert.deepEqual(await counts(of, granting(['author'])), [[], [], ['ann 1'], [], ['news 2', 'blogs 1']])
    assert.deepEqual(await counts(of, granting(['facts', 'body'])), [[], [], [], ['c 1'], ['news 2', 'blogs 1']])
    const order = '-score' as const
    assert.deepEqual(await it().found('word', { ...scopeOf(texts), order }), ['d1', 'd2', 'd3'])
    assert.deepEqual(await it().found('word', { ...scopeOf(entry), order }), ['d2', 'd3', 'd1'])
    const metrics = { ...entry, datasets: ['blogs'], fields: ['metrics'] as const }
    assert.deepEqual(await it().found('word', { ...scopeOf(texts, metrics), order }), ['d3', 'd1', 'd2'])
    const first = await it().find('word', { ...scopeOf(texts, metrics), order, limit: 1 })
    assert.deepEqual(first.next, { key: 9, documentId: 'd3' })
    assert.deepEqual(await it().found('word', { ...scopeOf(texts, metrics), order, after: first.next }), ['d1', 'd2'])
  })

  test('values: those of current documents with any open field, in byte order, over all pages', async () => {
    await it().start(
      put('d1', ['word'], { columns: { topics: ['sea', 'seal', '\u{1F600}', '\uFF5A'] } }),
      put('d2', ['other'], { columns: { topics: ['sea', 'Sea'], datasetId: 'blogs', contentType: 'video' } }),
      put('d3', ['word'], { columns: { topics: ['hidden'], datasetId: 'closed', language: 'de' } }),
      put('d4', [''], { title: 'only', columns: { topics: ['old'], language: null } }),
    )
    await it().apply(put('d4', ['text'], { version: 'd4 v2', columns: { topics: ['seam'], publishedAt: 5 * day } }))
    const names = ['Sea 1', 'sea 2', 'seal 1', 'seam 1', '\uFF5A 1', '\u{1F600} 1']
    const listed = async (request: Partial<ValuesRequest>) =>
      (await values(request)).values.map(({ value, count }) => `${value} ${count}`)
    assert.deepEqual(await listed({}), names)
    assert.deepEqual(await listed({ prefix: 'sea' }), ['sea 2', 'seal 1', 'seam 1'])
    assert.deepEqual(await listed({ prefix: 'seals' }), [])
    assert.deepEqual(await listed({ field: 'dataset' }), ['blogs 1', 'news 2'])
    assert.deepEqual(await listed({ field: 'language' }), ['en 3'])
    assert.deepEqual(await listed({ field: 'content_type' }), ['post 2', 'video 1'])
    assert.deepEqual(await listed({ field: 'tags' }), [])
    for (const limit of [1, 4, 6]) {
      const paged: string[] = []
      for (let after: string | null = null; ; ) {
        const page: Awaited<ReturnType<typeof values>> = await values({ limit, after })
        paged.push(...page.values.map(({ value, count }) => `${value} ${count}`))
        after = page.next
        if (after === null) break
      }
      assert.deepEqual(paged, names)
    }
    const scopes = [
      { fields: ['metadata'] as const },
      { datasets: ['closed', 'blogs'] },
      { languages: ['de'], datasets: ['closed'] },
      { publishedFrom: 4 * day },
    ]
    const seen = scopes.map(async (one) => (await listed({ scope: { entries: [{ ...entry, ...one }] } })).length)
    assert.deepEqual(await Promise.all(seen), [6, 3, 1, 1])
    assert.deepEqual(await listed({ scope: { entries: [] } }), [])
  })
}
