import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { conditionsIn, filterFaults, needsOf, parametersByNeed } from './filters.ts'

suite('filters of requests', () => {
  test('conditions have the order of the table, and null counts as absent', () => {
    const given = { external_author_id: 'u1', score_min: -3, tags: ['a', 'b'], topics: null, score_max: null }
    const conditions = conditionsIn(given)
    assert.deepEqual(conditions, { tags: ['a', 'b'], score: { min: -3, max: null }, externalAuthorId: ['u1'] })
    assert.deepEqual(Object.keys(conditions), ['tags', 'score', 'externalAuthorId'])
    assert.deepEqual(conditionsIn({ limit: 5, topics: null, score_min: null }), {})
  })

  test('an interval must not be reversed, and an author needs exactly one platform', () => {
    const faults = (given: object, platforms: readonly string[] | null = null) =>
      filterFaults({ ...given }, platforms, 'platforms').map(({ path, message }) => `${path} ${message}`)
    assert.deepEqual(faults({ score_min: 1, score_max: 0 }), ['score_min must not be greater than score_max'])
    assert.deepEqual(faults({ score_min: 0, score_max: 0 }), [])
    const needsPlatform = ['external_author_id needs exactly one value in platforms']
    assert.deepEqual(faults({ external_author_id: 'u1' }), needsPlatform)
    assert.deepEqual(faults({ external_author_id: 'u1' }, ['a', 'b']), needsPlatform)
    assert.deepEqual(faults({ external_author_id: 'u1' }, ['a']), [])
  })

  test('each condition needs its permission, and the author one of two', () => {
    assert.deepEqual(needsOf({}), [])
    assert.deepEqual(needsOf({ externalAuthorId: ['u1'] }), [['author', 'metadata']])
    const given = { score_max: 1, classification_codes: ['c'], tags: ['a'], external_author_id: 'u1' }
    assert.deepEqual(needsOf(conditionsIn(given)), [['metadata'], ['facts'], ['metrics'], ['author', 'metadata']])
    assert.deepEqual(parametersByNeed(given), {
      'author or metadata': 'external_author_id',
      metadata: 'tags',
      facts: 'classification_codes',
      metrics: 'score_max',
    })
  })
})
