import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { AvailableNodes } from './available-nodes.ts'

let nowMs = 0
beforeEach(() => {
  nowMs = 0
  mock.method(performance, 'now', () => nowMs)
})
afterEach(() => mock.restoreAll())

const asked = <Node>(nodes: AvailableNodes<Node>, times: number) => Array.from({ length: times }, () => nodes.next())

test('nodes are asked in turns, but for those that were lost; where all are, all of them', () => {
  const nodes = new AvailableNodes(['a', 'b', 'c'], async () => true)
  assert.deepEqual(asked(nodes, 4), ['a', 'b', 'c', 'a'])
  nodes.lost('b')
  assert.deepEqual(new Set(asked(nodes, 4)), new Set(['a', 'c']))
  nodes.lost('a')
  nodes.lost('c')
  assert.deepEqual(new Set(asked(nodes, 3)), new Set(['a', 'b', 'c']))
  nodes.found('a')
  assert.deepEqual(asked(nodes, 2), ['a', 'a'])
})

test('a lost one is looked for after a minute, later each time, and once at a time', async () => {
  let looks = 0
  let isThere = false
  const nodes = new AvailableNodes(['a', 'b'], async () => {
    looks++
    return isThere
  })
  for (let calls = 0; calls < 5; calls++) nodes.lost('b')
  nowMs = 59_000
  asked(nodes, 3)
  assert.equal(looks, 0)
  nowMs = 61_000
  asked(nodes, 3)
  assert.equal(looks, 1)
  await new Promise(setImmediate)
  nowMs += 119_000
  asked(nodes, 3)
  assert.equal(looks, 1)
  nowMs += 2000
  isThere = true
  assert.deepEqual(asked(nodes, 2), ['a', 'a'])
  await new Promise(setImmediate)
  assert.equal(looks, 2)
  assert.deepEqual(new Set(asked(nodes, 2)), new Set(['a', 'b']))
})
