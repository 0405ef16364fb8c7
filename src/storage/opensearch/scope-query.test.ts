import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entry } from '../../../test/contracts/index-under-test.ts'
import type { ScopeEntry } from '../../access/scope.ts'
import { inScopeDatasets, visibleClasses } from './scope-query.ts'

const filtersOf = (...entries: ScopeEntry[]) => visibleClasses({ entries }).map(({ filter }) => filter)
const datasetsOf = (...entries: ScopeEntry[]) => inScopeDatasets({ entries })
const anything = { match_all: {} }

test('a scope that restricts only datasets filters documents, and not their chunks', () => {
  const other = { ...entry, datasets: ['papers'] }
  assert.deepEqual(filtersOf(entry, other), [anything])
  assert.deepEqual(datasetsOf(entry, other), { terms: { dataset: ['news', 'blogs', 'papers'] } })
  assert.deepEqual(filtersOf({ ...entry, fields: ['title'] }), [
    { bool: { filter: [anything, { term: { 'chunks.first': true } }] } },
  ])
})

test('all other restrictions of an entry filter chunks', () => {
  const limits = [
    { platforms: ['web'] },
    { languages: ['en'] },
    { regions: ['eu'] },
    { publishedFrom: 1 },
    { publishedTo: 2 },
  ]
  for (const limit of limits) {
    assert.doesNotMatch(JSON.stringify(filtersOf({ ...entry, ...limit }, entry)), /match_all/)
  }
})

test('entries that open different fields have separate classes of chunks', () => {
  const [both, title] = filtersOf(entry, { ...entry, datasets: ['papers'], fields: ['title'] })
  assert.match(JSON.stringify(both), /"chunks.dataset":\["news","blogs"\]/)
  assert.match(JSON.stringify(title), /"chunks.dataset":\["papers"\]/)
})

test('datasets without searchable fields are not searched', () => {
  const unsearched: ScopeEntry = { ...entry, datasets: ['papers'], fields: ['metadata'] }
  assert.deepEqual(filtersOf(entry, unsearched), [anything])
  assert.deepEqual(datasetsOf(entry, unsearched), { terms: { dataset: ['news', 'blogs'] } })
})
