import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellApart } from './tell-apart.ts'

test('parts of a document are numbered, and documents of the same title show their facts', () => {
  const texts = { subjectIds: ['c', 'a', 'b', 'd', 'e'], documentIds: ['one', 'one', 'two', 'three', 'four'] }
  const titles = ['Long', 'Long', 'Own', 'Post', 'Post']
  const apart = tellApart(
    texts,
    (node) => titles[node]!,
    (node) => ['forum', `Nov ${node}`],
  )
  assert.deepEqual([0, 1, 2, 3, 4].map(apart), ['part 2 of 2', 'part 1 of 2', null, 'forum · Nov 3', 'forum · Nov 4'])
  const all = tellApart(
    texts,
    () => 'Post',
    () => ['forum'],
  )
  assert.deepEqual([0, 2].map(all), ['forum · part 2 of 2', 'forum'])
})
