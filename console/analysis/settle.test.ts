import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Settling } from './settle.ts'

/** Two crowds in which each is tied to each, and one tie between them. */
const size = 12
const ties = [0, size].flatMap((first) =>
  Array.from({ length: size }, (_, i) => Array.from({ length: i }, (_, j) => [first + i, first + j])).flat(),
)
ties.push([0, size])
const graph = {
  subjectIds: Array.from({ length: 2 * size }, (_, i) => `chunk ${i}`),
  ties: Uint32Array.from(ties.flat()),
  strengths: new Float32Array(ties.length).fill(1),
}

function settled(): Float32Array {
  const settling = new Settling(graph)
  for (let step = 0; step < 300; step += 1) settling.step()
  return settling.places()
}

test('what is tied together comes to lie together, and each at a place of its own', () => {
  const places = settled()
  const distance = (a: number, b: number): number =>
    Math.hypot(places[2 * a]! - places[2 * b]!, places[2 * a + 1]! - places[2 * b + 1]!)
  const [within, between]: [number[], number[]] = [[], []]
  for (let a = 0; a < 2 * size; a += 1) {
    for (let b = 0; b < a; b += 1) (a < size === b < size ? within : between).push(distance(a, b))
  }
  const mean = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0) / list.length
  assert.ok(mean(within) < mean(between) / 1.5, `${mean(within)} within, ${mean(between)} between`)
  assert.ok(Math.min(...within, ...between) > 0)
})

test('the same graph comes to the same picture', () => {
  assert.deepEqual(settled(), settled())
})
