import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ForceLayout } from './force-layout.ts'

/** Two complete graphs of this size, and one edge between them. */
const size = 12
const edges = [0, size].flatMap((first) =>
  Array.from({ length: size }, (_, i) => Array.from({ length: i }, (_, j) => [first + i, first + j])).flat(),
)
edges.push([0, size])
const graph = {
  subjectIds: Array.from({ length: 2 * size }, (_, i) => `chunk ${i}`),
  edges: Uint32Array.from(edges.flat()),
  strengths: new Float32Array(edges.length).fill(1),
}

function finalPositions(): Float32Array {
  const layout = new ForceLayout(graph)
  for (let step = 0; step < 300; step += 1) layout.step()
  return layout.positions()
}

test('connected nodes end up close together, and no two at the same position', () => {
  const positions = finalPositions()
  const distance = (a: number, b: number): number =>
    Math.hypot(positions[2 * a]! - positions[2 * b]!, positions[2 * a + 1]! - positions[2 * b + 1]!)
  const [within, between]: [number[], number[]] = [[], []]
  for (let a = 0; a < 2 * size; a += 1) {
    for (let b = 0; b < a; b += 1) (a < size === b < size ? within : between).push(distance(a, b))
  }
  const mean = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0) / list.length
  assert.ok(mean(within) < mean(between) / 1.5, `${mean(within)} within, ${mean(between)} between`)
  assert.ok(Math.min(...within, ...between) > 0)
})

test('the same graph always gets the same layout', () => {
  assert.deepEqual(finalPositions(), finalPositions())
})
