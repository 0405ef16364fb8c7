import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { AvailableNodes } from './available-nodes.ts'

let nowMs = 0
beforeEach(() => {
  nowMs = 0
  mock.method(performance, 'now', () => nowMs)
})
afterEach(() => mock.restoreAll())

const chosen = <Node>(nodes: AvailableNodes<Node>, times: number) => Array.from({ length: times }, () => nodes.next())

test('nodes are used in round robin without lost ones, or with all of them if all are lost', () => {
  const nodes = new AvailableNodes(['a', 'b', 'c'], async () => true)
  assert.deepEqual(chosen(nodes, 4), ['a', 'b', 'c', 'a'])
  nodes.markLost('b')
  assert.deepEqual(new Set(chosen(nodes, 4)), new Set(['a', 'c']))
  nodes.markLost('a')
  nodes.markLost('c')
  assert.deepEqual(new Set(chosen(nodes, 3)), new Set(['a', 'b', 'c']))
  nodes.markAvailable('a')
  assert.deepEqual(chosen(nodes, 2), ['a', 'a'])
})

test('a lost node is pinged after a minute, then after doubled times, with one ping at a time', async () => {
  let pings = 0
  let isReachable = false
  const nodes = new AvailableNodes(['a', 'b'], async () => {
    pings++
    return isReachable
  })
  for (let calls = 0; calls < 5; calls++) nodes.markLost('b')
  nowMs = 59_000
  chosen(nodes, 3)
  assert.equal(pings, 0)
  nowMs = 61_000
  chosen(nodes, 3)
  assert.equal(pings, 1)
  await new Promise(setImmediate)
  nowMs += 119_000
  chosen(nodes, 3)
  assert.equal(pings, 1)
  nowMs += 2000
  isReachable = true
  assert.deepEqual(chosen(nodes, 2), ['a', 'a'])
  await new Promise(setImmediate)
  assert.equal(pings, 2)
  assert.deepEqual(new Set(chosen(nodes, 2)), new Set(['a', 'b']))
})
