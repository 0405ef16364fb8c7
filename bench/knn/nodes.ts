import type { InputPortion } from '../../src/analysis/algorithm.ts'

const portion = 256

/**
 * Unit vectors around a few hundred centres, as embeddings of texts on a few hundred subjects are. They follow from the
 * numbers alone, so that every process makes the same.
 */
export function makeVectors(count: number, dimensions: number): Float32Array {
  let state = 12_345
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 - 0.5
  }
  const centres = 300
  const centre = Float32Array.from({ length: centres * dimensions }, next)
  const vectors = new Float32Array(count * dimensions)
  for (let row = 0; row < count; row++) {
    const from = (row % centres) * dimensions
    let square = 0
    for (let i = 0; i < dimensions; i++) {
      const value = centre[from + i]! + next() * 1.2
      vectors[row * dimensions + i] = value
      square += value * value
    }
    const length = Math.sqrt(square)
    for (let i = 0; i < dimensions; i++) vectors[row * dimensions + i]! /= length
  }
  return vectors
}

/** Ids of the length that real ones have, ascending. */
export async function* portionsOf(vectors: Float32Array, dimensions: number): AsyncGenerator<InputPortion> {
  const count = vectors.length / dimensions
  const idOf = (prefix: string, node: number) => `${prefix}_01kbench00${String(node).padStart(16, '0')}`
  for (let start = 0; start < count; start += portion) {
    const nodes = Array.from({ length: Math.min(portion, count - start) }, (_, i) => start + i)
    yield {
      chunkIds: nodes.map((node) => idOf('chk', node)),
      documentIds: nodes.map((node) => idOf('doc', node >> 1)),
      versionIds: nodes.map((node) => idOf('ver', node >> 1)),
      vectors: vectors.slice(start * dimensions, (start + nodes.length) * dimensions),
      texts: [],
      documents: [],
    }
  }
}
