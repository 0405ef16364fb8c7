import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examineShards } from './shard-findings.ts'

/** The findings for rows such as `p STARTED, r UNASSIGNED`. */
const findingsFor = (rows: string) =>
  examineShards(
    rows.split(', ').map((row) => {
      const [prirep, state, store = null] = row.split(' ') as [string, string, string?]
      return { prirep, state, store }
    }),
  ).map(({ state, about }) => `${state}: ${about}`)

const oneShard = (state: string) => `p ${state}, r STARTED`

test('reports the number of missing shards and copies', () => {
  assert.deepEqual(findingsFor('p STARTED, r STARTED, p RELOCATING, r STARTED'), [])
  assert.deepEqual(findingsFor('p STARTED'), [])
  assert.deepEqual(findingsFor(oneShard('UNASSIGNED')), [
    'failure: the search index is red: its only shard is on no node',
  ])
  assert.deepEqual(findingsFor(oneShard('INITIALIZING')), [
    'failure: the search index is red: its only shard is still being started',
  ])
  assert.deepEqual(findingsFor('p STARTED, p UNASSIGNED, p STARTED'), [
    'failure: the search index is red: 1 of its 3 shards is on no node',
  ])
  assert.deepEqual(findingsFor('p UNASSIGNED, p UNASSIGNED, p STARTED'), [
    'failure: the search index is red: 2 of its 3 shards are on no node',
  ])
  assert.deepEqual(findingsFor('p STARTED, r UNASSIGNED'), [
    'warning: the search index is yellow: its only copy is on no node',
  ])
  assert.deepEqual(findingsFor('p STARTED, r INITIALIZING, p STARTED, r UNASSIGNED'), [
    'warning: the search index is yellow: 1 of its 2 copies is on no node',
    'warning: the search index is yellow: 1 of its 2 copies is still being made',
  ])
  assert.deepEqual(findingsFor('p STARTED, r INITIALIZING, p STARTED, r INITIALIZING'), [
    'warning: the search index is yellow: 2 of its 2 copies are still being made',
  ])
})

test('warns of a shard that is too large', () => {
  assert.deepEqual(findingsFor(`p STARTED ${50 * 2 ** 30}`), [])
  assert.deepEqual(findingsFor(`p STARTED ${50 * 2 ** 30 + 1}`), [
    'warning: shards of the search index are larger than 50 GiB',
  ])
})
