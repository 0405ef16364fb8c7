import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestName } from './nearest-name.ts'

const known = ['query', 'tags', 'dataset_ids', 'datasets', 'published_from', 'limit']

test('finds the intended name, or none if no name is near', () => {
  for (const [typed, meant] of [
    ['quer', 'query'],
    ['tag', 'tags'],
    ['dataset', 'datasets'],
    ['datasetIds', 'dataset_ids'],
    ['publishedFrom', 'published_from'],
    ['lmit', 'limit'],
    ['colour', null],
    ['', null],
    ['q', null],
    ['tags'.repeat(100_000), null],
  ] as const) {
    assert.equal(nearestName(typed, known), meant, typed.slice(0, 20))
  }
})
