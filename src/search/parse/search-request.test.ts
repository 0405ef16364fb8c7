import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { TidemarkError } from '../../platform/errors.ts'
import { bindingOf, checkSearch, namedFields, neededPermissions, type SearchBody } from './search-request.ts'

const refusedPath = (body: SearchBody, dimensions: number | null = 3): string | null => {
  try {
    checkSearch(body, null, dimensions)
    return null
  } catch (error) {
    assert.ok(error instanceof TidemarkError && error.code === 'invalid_query')
    return error.details?.[0]?.path ?? ''
  }
}

suite('a search request', () => {
  test('uses keyword mode, unless it has a vector, or body or path name a mode', () => {
    const query_vector = [1, 0, 0]
    assert.equal(checkSearch({ query: 'a' }, null, 3).mode, 'keyword')
    assert.equal(checkSearch({ query: 'a', query_vector }, null, 3).mode, 'hybrid')
    assert.equal(checkSearch({ query: 'a', query_vector }, 'keyword', 3).mode, 'keyword')
    assert.equal(checkSearch({ query: 'a', query_vector, mode: 'vector' }, null, 3).mode, 'vector')
  })

  test('accepts exactly the vectors with the right dimensions and finite numbers that are not all zero', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { minLength: 1, maxLength: 5 }), (query_vector) => {
        const usable =
          query_vector.length === 3 && query_vector.every(Number.isFinite) && query_vector.some((value) => value !== 0)
        assert.equal(refusedPath({ mode: 'vector', query_vector }), usable ? null : 'query_vector')
      }),
    )
  })

  test('accepts any number of dimensions while the dimensions of the profile are unknown', () => {
    assert.equal(refusedPath({ mode: 'vector', query_vector: [1, 2] }, null), null)
    assert.equal(refusedPath({ mode: 'vector', query_vector: [0, 0] }, null), 'query_vector')
  })

  test('trims the query, and counts its length in code points', () => {
    assert.equal(checkSearch({ query: ' \u3000a\n' }, null, 3).text, 'a')
    assert.equal(refusedPath({ query: '😀'.repeat(1000) }), null)
    assert.equal(refusedPath({ query: '😀'.repeat(1001) }), 'query')
    assert.equal(refusedPath({ query: '\ud800'.repeat(1001) }), 'query')
    assert.equal(refusedPath({ query: '\t' }), 'query')
  })

  test('two requests share a cursor exactly if they are equivalent', () => {
    const words = fc.constantFrom('a', 'b')
    const arbitrary = fc.record(
      {
        query: words,
        languages: fc.uniqueArray(words, { minLength: 1 }),
        datasets: fc.uniqueArray(words, { minLength: 1 }),
        platforms: fc.uniqueArray(words, { minLength: 1 }),
        published_from: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
        published_to: fc.constantFrom('2026-02-01T00:00:00Z', '2026-02-02T00:00:00Z'),
        typo: fc.constantFrom('off' as const, 'auto' as const, 'always' as const),
        prefix: fc.boolean(),
        explain: fc.boolean(),
        limit: fc.constantFrom(1, 20),
        fields: fc.uniqueArray(fc.constantFrom('title' as const, 'body' as const), { minLength: 1 }),
        include_highlights: fc.boolean(),
        include_chunks: fc.boolean(),
        include_non_current: fc.boolean(),
      },
      { requiredKeys: ['query'] },
    )
    const binding = (body: SearchBody): string => JSON.stringify(bindingOf(checkSearch(body, null, 3)))
    // An absent field means its default.
    const whole = (body: SearchBody): string => {
      const {
        fields,
        typo = 'off',
        prefix = false,
        explain = false,
        limit = 20,
        include_highlights = false,
        include_chunks = false,
        include_non_current = false,
      } = body
      const rest = [body.query, body.languages, body.datasets, body.platforms, body.published_from, body.published_to]
      return JSON.stringify([
        rest,
        [...(fields ?? ['*'])].sort(),
        typo,
        prefix,
        explain,
        limit,
        include_highlights,
        include_chunks,
        include_non_current,
      ])
    }
    fc.assert(
      fc.property(arbitrary, arbitrary, (a, b) => {
        assert.equal(binding(a) === binding(b), whole(a) === whole(b))
      }),
      { numRuns: 2000 },
    )
    assert.equal(binding({ query: 'a' }), binding({ query: ' a ', mode: 'keyword', limit: 20 }))
  })

  test('accepts typo, prefix, sort and filters in keyword mode only', () => {
    const author = { external_author_id: 'relevance' }
    for (const mode of ['vector', 'hybrid'] as const) {
      assert.equal(refusedPath({ query: 'a', mode, typo: 'auto' }), 'typo')
      assert.equal(refusedPath({ query: 'a', mode, prefix: true }), 'prefix')
      assert.equal(refusedPath({ query: 'a', mode, sort: '-score' }), 'sort')
      assert.equal(refusedPath({ query: 'a', mode, ...author }), 'external_author_id')
      assert.equal(refusedPath({ query: 'a', mode, typo: 'off', prefix: false, sort: 'relevance' }), null)
    }
    assert.equal(refusedPath({ query: 'a', typo: 'always', prefix: true }), null)
  })

  test('lists the permissions that it needs', () => {
    const needed = (body: SearchBody) => neededPermissions(checkSearch({ query: 'a', ...body }, null, 3))
    assert.deepEqual(needed({ mode: 'vector' }), [['body']])
    assert.deepEqual(needed({}), [['title', 'body']])
    assert.deepEqual(needed({ mode: 'hybrid' }), [['title', 'body']])
    for (const [body, needs, wants] of [
      [{ external_author_id: 'u1', platforms: ['rss'] }, [['author', 'metadata']], []],
      [{ facets: ['author', 'dataset', 'region'] }, [], [['author', 'metadata']]],
      [{ topics: ['x'] }, [['metadata']], []],
      [{ facets: ['tags'] }, [], [['metadata']]],
      [{ classification_codes: ['x'], facets: ['topics'] }, [['facts']], [['metadata']]],
      [{ facets: ['classifications', { published_at: 'week' }] }, [], [['facts']]],
      [{ score_max: 0 }, [['metrics']], []],
      [{ sort: '-score' }, [], [['metrics']]],
      [{ sort: '-published_at', status: ['active'] }, [], []],
    ] as [SearchBody, string[][], string[][]][]) {
      assert.deepEqual(needed(body), [['title', 'body'], ...needs])
      assert.deepEqual(checkSearch({ query: 'a', ...body }, null, 3).wants, wants)
    }
    assert.deepEqual(namedFields({ fields: ['title', 'language', 'author'] }), [
      { name: 'title', openedBy: ['title'] },
      { name: 'author', openedBy: ['author', 'metadata'] },
    ])
    assert.deepEqual(namedFields({}), [])
  })
})
