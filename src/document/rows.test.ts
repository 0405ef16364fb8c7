import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { documentColumns, facetRows, fieldRows, filterRows } from './rows.ts'

suite('the table of document fields', () => {
  for (const [what, values] of [
    ['properties', [...new Set([...fieldRows, ...documentColumns])].map(({ property }) => property)],
    ['columns', documentColumns.map(({ column }) => column)],
    ['parameters of filters', filterRows.map(({ filter }) => filter.parameter)],
    ['numbers of terms', filterRows.flatMap(({ filter }) => filter.term ?? [])],
    ['facets', facetRows.map(({ facet }) => facet)],
  ] as const) {
    test(`no two rows have the same ${what}`, () => assert.deepEqual(values, [...new Set<unknown>(values)]))
  }

  test('what has a filter or a facet is in the search index', () => {
    for (const { name, indexed } of [...filterRows, ...facetRows]) assert.notEqual(indexed, undefined, name)
  })
})
