import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ScopeEntry } from '../../src/access/scope.ts'
import type { Facet } from '../../src/search/facets.ts'
import {
  type CatalogConditions,
  type KeywordOrder,
  type KeywordRequest,
  keywordOrders,
  noFilters,
  type ValuesRequest,
} from '../../src/search/search-index.ts'
import { columns, entry, everything, type IndexUnderTest, ids, put, timeoutMs } from './index-under-test.ts'

const noConditions: CatalogConditions = {
  authorId: null,
  topics: null,
  tags: null,
  classifications: null,
  scoreMin: null,
  scoreMax: null,
}
const day = 86_400_000

/** Decisions by document: conditions, order, counts, and the existing values. */
export function countsExamples(it: () => IndexUnderTest): void {
  const counts = async (of: readonly Facet[], request: Partial<KeywordRequest> = {}, limit = 100) => {
    const { facets } = await it().find('word', { ...request, facets: { of, limit } })
    return facets!.map((counted) => counted.map(({ value, count }) => `${value} ${count}`))
  }
  const values = async (request: Partial<ValuesRequest>) => {
    const asked = { scope: everything, field: 'topics', prefix: '', after: null, limit: 100, timeoutMs } as const
    const page = await it().index.values({ ...asked, ...request })
    assert.ok(page.outcome === 'found', JSON.stringify(page))
    return page
  }

  test('conditions: each to the letter, values of a list OR-ed, all of them AND-ed, what is lacking never meets one', async () => {
    await it().start(
      put('d1', ['word'], { columns: { authorId: 'ann', topics: ['sea', 'sky'], score: -5 } }),
      put('d2', ['word', 'word'], { columns: { authorId: 'bob', topics: ['Sea'], tags: ['sea'], score: 5 } }),
      put('d3', ['word'], { columns: { classifications: ['sea'], tags: ['sky', 'a,b'] } }),
    )
    const met = async (conditions: Partial<CatalogConditions>) => {
      const page = await it().find('word', { conditions: { ...noConditions, ...conditions } })
      assert.equal(page.totalChunks, page.hits.length + (ids(page.hits).includes('d2') ? 1 : 0))
      return ids(page.hits).sort()
    }
    assert.deepEqual(await met({}), ['d1', 'd2', 'd3'])
    assert.deepEqual(await met({ authorId: 'ann' }), ['d1'])
    assert.deepEqual(await met({ authorId: 'nobody' }), [])
    assert.deepEqual(await met({ topics: ['sea'] }), ['d1'])
    assert.deepEqual(await met({ topics: ['sea', 'Sea', 'other'] }), ['d1', 'd2'])
    assert.deepEqual(await met({ topics: [] }), [])
    assert.deepEqual(await met({ tags: ['sea'], topics: ['Sea'] }), ['d2'])
    assert.deepEqual(await met({ tags: ['a,b'] }), ['d3'])
    assert.deepEqual(await met({ tags: ['word'] }), [])
    assert.deepEqual(await met({ classifications: ['sea'] }), ['d3'])
    assert.deepEqual(await met({ scoreMin: -5 }), ['d1', 'd2'])
    assert.deepEqual(await met({ scoreMin: -5, scoreMax: 4 }), ['d1'])
    assert.deepEqual(await met({ scoreMax: 5 }), ['d1', 'd2'])
    assert.deepEqual(await met({ authorId: 'ann', scoreMin: 0 }), [])
  })

  test('order: by time and by score, those without one last, equal ones by id, page by page to the end', async () => {
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

  test('facets count every match once a value, on whatever page, the most first', async () => {
    await it().start(
      put('d1', ['word', 'word', 'other'], { columns: { topics: ['x', 'y'], tags: ['t'], authorId: 'ann' } }),
      put('d2', ['word'], { columns: { topics: ['y', 'é'], language: 'fr', platform: 'app', region: null } }),
      put('d3', ['word'], { columns: { datasetId: 'blogs', contentType: null, status: 'unavailable', topics: [] } }),
      put('d4', ['other'], { columns: { topics: ['z'], authorId: 'ann' } }),
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
    const conditions = { ...noConditions, topics: ['x'] }
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

  test('what changes about a document is filtered, ordered and counted by at once', async () => {
    const of = ['topics', 'author', 'region'] as const
    await it().start(
      put('d1', ['word'], { columns: { topics: ['old'], authorId: 'ann', score: 1 } }),
      put('d2', ['word'], { columns: { score: 2 } }),
    )
    assert.deepEqual(await it().found('word', { order: '-score' }), ['d2', 'd1'])
    const changed = { ...columns, topics: ['new'], authorId: 'bob', score: 3, region: 'us' }
    await it().apply({ kind: 'set_columns', documentId: 'd1', columns: changed })
    assert.deepEqual(await counts(of), [['new 1'], ['bob 1'], ['eu 1', 'us 1']])
    assert.deepEqual(await it().found('word', { order: '-score' }), ['d1', 'd2'])
    assert.deepEqual(await it().found('word', { conditions: { ...noConditions, topics: ['old'] } }), [])
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

  test('where an earlier version alone may be read, nothing that the catalog knows of the document is told', async () => {
    await it().start(
      put('d1', ['word'], { columns: { language: 'fr' } }),
      put('d2', ['word'], { columns: { language: 'fr', topics: ['open'], authorId: 'ann', score: 1 } }),
    )
    const now = { language: 'en', topics: ['closed'], authorId: 'bob', score: 9, tags: ['t'], classifications: ['c'] }
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
    const meeting = (conditions: Partial<CatalogConditions>) =>
      it().found('word', { ...request, conditions: { ...noConditions, ...conditions } })
    assert.deepEqual(await meeting({ topics: ['closed', 'open'] }), ['d2'])
    assert.deepEqual(await meeting({ scoreMin: 0 }), ['d2'])
    assert.deepEqual(await meeting({ authorId: 'bob' }), [])
    const all = { ...request, scope: everything }
    assert.deepEqual(await counts(['topics'], all), [['closed 1', 'open 1']])
  })

  test('what an entry does not grant is found and counted as if there were none; one that grants it is enough', async () => {
    const known = { topics: ['t'], tags: ['g'], authorId: 'ann', classifications: ['c'], score: 9 }
    await it().start(
      put('d1', ['word'], { columns: { ...known, score: 1 } }),
      put('d2', ['word'], { columns: { ...known, language: 'fr' } }),
      put('d3', ['word'], { columns: { ...known, datasetId: 'blogs' } }),
    )
    const texts = { ...entry, fields: ['title', 'body'] as const }
    const asked = (...entries: ScopeEntry[]) => ({ scope: { entries } })
    const of = ['topics', 'tags', 'author', 'classifications', 'dataset'] as const
    const granting = (fields: ScopeEntry['fields']) =>
      asked(texts, { ...entry, datasets: ['news'], languages: ['en'], fields })
    assert.deepEqual(await counts(of, asked(texts)), [[], [], [], [], ['news 2', 'blogs 1']])
    assert.deepEqual(await counts(of, granting(['metadata'])), [['t 1'], ['g 1'], ['ann 1'], [], ['news 2', 'blogs 1']])
    assert.deepEqual(await counts(of, granting(['author'])), [[], [], ['ann 1'], [], ['news 2', 'blogs 1']])
    assert.deepEqual(await counts(of, granting(['facts', 'body'])), [[], [], [], ['c 1'], ['news 2', 'blogs 1']])
    const order = '-score' as const
    assert.deepEqual(await it().found('word', { ...asked(texts), order }), ['d1', 'd2', 'd3'])
    assert.deepEqual(await it().found('word', { ...asked(entry), order }), ['d2', 'd3', 'd1'])
    const metrics = { ...entry, datasets: ['blogs'], fields: ['metrics'] as const }
    assert.deepEqual(await it().found('word', { ...asked(texts, metrics), order }), ['d3', 'd1', 'd2'])
    const first = await it().find('word', { ...asked(texts, metrics), order, limit: 1 })
    assert.deepEqual(first.next, { key: 9, documentId: 'd3' })
    assert.deepEqual(await it().found('word', { ...asked(texts, metrics), order, after: first.next }), ['d1', 'd2'])
  })

  test('values: what documents have now, whatever is open of them, in the order of their bytes, page by page', async () => {
    await it().start(
      put('d1', ['word'], { columns: { topics: ['sea', 'seal', '\u{1F600}', '\uFF5A'] } }),
      put('d2', ['other'], { columns: { topics: ['sea', 'Sea'], datasetId: 'blogs', contentType: 'video' } }),
      put('d3', ['word'], { columns: { topics: ['hidden'], datasetId: 'closed', language: 'de' } }),
      put('d4', [''], { title: 'only', columns: { topics: ['old'], language: null } }),
    )
    await it().apply(put('d4', ['text'], { version: 'd4 v2', columns: { topics: ['seam'], publishedAt: 5 * day } }))
    const names = ['Sea 1', 'sea 2', 'seal 1', 'seam 1', '\uFF5A 1', '\u{1F600} 1']
    const told = async (request: Partial<ValuesRequest>) =>
      (await values(request)).values.map(({ value, count }) => `${value} ${count}`)
    assert.deepEqual(await told({}), names)
    assert.deepEqual(await told({ prefix: 'sea' }), ['sea 2', 'seal 1', 'seam 1'])
    assert.deepEqual(await told({ prefix: 'seals' }), [])
    assert.deepEqual(await told({ field: 'dataset' }), ['blogs 1', 'news 2'])
    assert.deepEqual(await told({ field: 'language' }), ['en 3'])
    assert.deepEqual(await told({ field: 'content_type' }), ['post 2', 'video 1'])
    assert.deepEqual(await told({ field: 'tags' }), [])
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
    const seen = scopes.map(async (one) => (await told({ scope: { entries: [{ ...entry, ...one }] } })).length)
    assert.deepEqual(await Promise.all(seen), [6, 3, 1, 1])
    assert.deepEqual(await told({ scope: { entries: [] } }), [])
  })
}
