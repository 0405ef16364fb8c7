import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Nodes, squaresOf } from './cosine.ts'
import { ExactNeighbours, type NeighbourRequest, scoreErrorMax, unitVectors } from './exact-neighbours.ts'
import { openKernel, type ScoreKernel } from './score-kernel.ts'

interface Edge {
  readonly source: number
  readonly target: number
  readonly similarity: number
}

/** Pseudo-random numbers from a seed (mulberry32), so that a failure can be repeated. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The definition, by brute force in 64 bits. */
function bruteForce({ count, dimensions, vectors }: Nodes, { k, minSimilarity }: NeighbourRequest): Edge[] {
  const row = (i: number) => [...vectors.subarray(i * dimensions, (i + 1) * dimensions)]
  const rows = Array.from({ length: count }, (_, i) => row(i))
  const lengths = rows.map((one) => Math.sqrt(one.reduce((sum, value) => sum + value * value, 0)))
  return rows.flatMap((source, i) =>
    rows
      .map((target, j): Edge => {
        let product = 0
        for (let at = 0; at < dimensions; at++) product += source[at]! * target[at]!
        return { source: i, target: j, similarity: product / (lengths[i]! * lengths[j]!) }
      })
      .filter(({ target, similarity }) => target !== i && similarity >= (minSimilarity ?? -2))
      .sort((a, b) => b.similarity - a.similarity || a.target - b.target)
      .slice(0, k),
  )
}

async function edgesOf(nodes: Nodes, requested: NeighbourRequest, kernel?: ScoreKernel) {
  const squares = squaresOf(nodes)
  const own = kernel ?? (await openKernel(unitVectors(nodes, squares), nodes.dimensions, 1))
  const neighbours = new ExactNeighbours(nodes, squares, own, requested)
  const edges: Edge[] = []
  for await (const { start, counts, targets, similarities } of neighbours.blocks()) {
    let at = 0
    for (const [i, count] of counts.entries()) {
      for (let rank = 0; rank < count; rank++, at++) {
        edges.push({ source: start + i, target: targets[at]!, similarity: similarities[at]! })
      }
    }
  }
  return { edges, redone: neighbours.redone }
}

/**
 * The two sides sum in different orders, so similarities may differ in the last bits, and so may the order of equal
 * ones. The similarities must match by rank.
 */
function assertSame(actual: readonly Edge[], expected: readonly Edge[], tolerance = 1e-12): void {
  assert.equal(actual.length, expected.length)
  for (const [i, edge] of actual.entries()) {
    const other = expected[i]!
    assert.equal(edge.source, other.source)
    assert.ok(Math.abs(edge.similarity - other.similarity) < tolerance, `edge ${i}: ${JSON.stringify([edge, other])}`)
  }
}

function assertOrdered(edges: readonly Edge[]): void {
  for (const [i, edge] of edges.entries()) {
    assert.notEqual(edge.source, edge.target)
    const before = edges[i - 1]
    if (before === undefined || before.source !== edge.source) continue
    const inOrder =
      before.similarity > edge.similarity || (before.similarity === edge.similarity && before.target < edge.target)
    assert.ok(inOrder, `out of order: ${JSON.stringify([before, edge])}`)
  }
}

/** Random directions; from `copiesFrom` on, copies of the first few, some of them scaled. */
function planted(count: number, dimensions: number, copiesFrom: number, seed: number): Nodes {
  const next = chance(seed)
  const vectors = Float32Array.from({ length: count * dimensions }, () => next() - 0.5)
  for (let row = copiesFrom; row < count; row++) {
    const original = vectors.slice((row % 3) * dimensions, ((row % 3) + 1) * dimensions)
    const scale = row % 2 === 0 ? 1 : 0.25
    vectors.set(
      original.map((value) => value * scale),
      row * dimensions,
    )
  }
  return { count, dimensions, vectors }
}

/** A kernel in plain JavaScript with the largest error that the proof allows in every score, up or down. */
function wrongKernel(nodes: Nodes, seed: number): ScoreKernel {
  const { count, dimensions } = nodes
  const unit = unitVectors(nodes, squaresOf(nodes))
  const next = chance(seed)
  const error = scoreErrorMax(dimensions) * 0.9
  const rowScores = (row: number): Float32Array =>
    Float32Array.from({ length: count }, (_, position) => {
      let sum = 0
      for (let at = 0; at < dimensions; at++) sum += unit[row * dimensions + at]! * unit[position * dimensions + at]!
      return sum + (next() < 0.5 ? -error : error)
    })
  return {
    async nearest(start, rows, keep) {
      const best = new Float32Array(rows * keep)
      const positions = new Int32Array(rows * keep)
      for (let i = 0; i < rows; i++) {
        const scores = rowScores(start + i)
        const order = Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]!)
        for (let j = 0; j < keep; j++) {
          positions[i * keep + j] = order[j]!
          best[i * keep + j] = scores[order[j]!]!
        }
      }
      return { best, positions }
    },
    async scores(rows) {
      const all = new Float32Array(rows.length * count)
      for (const [i, row] of rows.entries()) all.set(rowScores(row), i * count)
      return all
    },
  }
}

suite('the exact neighbours of every node', () => {
  test('2,000 nodes with 400 planted copies: every edge matches brute force', async () => {
    const nodes = planted(2000, 48, 1600, 7)
    const requested = { k: 30, minSimilarity: null }
    const { edges, redone } = await edgesOf(nodes, requested)
    assertSame(edges, bruteForce(nodes, requested))
    assertOrdered(edges)
    // 133 copies of one vector do not fit into 39 candidates, so those rows cannot be proven and are recomputed.
    assert.ok(redone >= 400, `${redone} rows were recomputed`)
    const copies = edges.filter(({ source, similarity }) => source === 0 && similarity === 1)
    assert.equal(copies.length, 30)
  })

  test('one thread and two give the same bits', async () => {
    const nodes = planted(1500, 64, 1400, 11)
    const squares = squaresOf(nodes)
    const unit = unitVectors(nodes, squares)
    const requested = { k: 10, minSimilarity: null }
    const [one, two] = await Promise.all(
      [1, 2].map(async (threads) => edgesOf(nodes, requested, await openKernel(unit, nodes.dimensions, threads))),
    )
    assert.deepEqual(one!.edges, two!.edges)
  })

  test('more neighbours than nodes, and a threshold', async () => {
    const nodes = planted(20, 16, 18, 3)
    for (const minSimilarity of [null, -1, 0, 0.5, 1]) {
      const { edges } = await edgesOf(nodes, { k: 100, minSimilarity })
      assertOrdered(edges)
      assertSame(edges, bruteForce(nodes, { k: 100, minSimilarity: minSimilarity === 1 ? 1 - 1e-12 : minSimilarity }))
    }
  })

  test('a kernel with the largest error that the proof allows changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          count: fc.integer({ min: 2, max: 60 }),
          dimensions: fc.integer({ min: 1, max: 9 }),
          k: fc.integer({ min: 1, max: 6 }),
          copies: fc.integer({ min: 0, max: 40 }),
          minSimilarity: fc.option(fc.double({ min: -1, max: 1, noNaN: true })),
          seed: fc.integer(),
        }),
        async ({ count, dimensions, k, copies, minSimilarity, seed }) => {
          const nodes = planted(count, dimensions, Math.max(3, count - copies), seed)
          const requested = { k, minSimilarity }
          const right = await edgesOf(nodes, requested)
          const wrong = await edgesOf(nodes, requested, wrongKernel(nodes, seed))
          assert.deepEqual(wrong.edges, right.edges)
          assertOrdered(right.edges)
          // Brute force sums in a different order, so at the threshold itself the two may differ by a last bit.
          if (minSimilarity === null) assertSame(right.edges, bruteForce(nodes, requested))
        },
      ),
      { numRuns: 60 },
    )
  })
})
