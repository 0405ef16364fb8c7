import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Graph, leiden } from './leiden.ts'

type Edge = readonly [a: number, b: number, weight: number]

function graphOf(nodes: number, edges: readonly Edge[]): Graph {
  const both = edges.flatMap(([a, b, weight]): Edge[] => [
    [a, b, weight],
    [b, a, weight],
  ])
  both.sort(([a, b], [c, d]) => a - c || b - d)
  return {
    nodes,
    starts: Uint32Array.from({ length: nodes + 1 }, (_, node) => both.filter(([a]) => a < node).length),
    neighbours: Uint32Array.from(both, ([, b]) => b),
    weights: Float64Array.from(both, ([, , weight]) => weight),
  }
}

/** Modularity with a resolution, by its definition over all pairs. */
function quality(nodes: number, edges: readonly Edge[], communities: ArrayLike<number>, resolution: number): number {
  const strengths = new Array<number>(nodes).fill(0)
  for (const [a, b, weight] of edges) {
    strengths[a]! += weight
    strengths[b]! += weight
  }
  const total = strengths.reduce((sum, one) => sum + one, 0)
  let within = 0
  for (const [a, b, weight] of edges) if (communities[a] === communities[b]) within += 2 * weight
  for (let a = 0; a < nodes; a++) {
    for (let b = 0; b < nodes; b++) {
      if (communities[a] === communities[b]) within -= (resolution * strengths[a]! * strengths[b]!) / total
    }
  }
  return within / total
}

function* partitions(nodes: number): Generator<number[]> {
  const labels = new Array<number>(nodes).fill(0)
  yield* (function* from(node: number, used: number): Generator<number[]> {
    if (node === nodes) return yield [...labels]
    for (let label = 0; label <= used; label++) {
      labels[node] = label
      yield* from(node + 1, Math.max(used, label + 1))
    }
  })(1, 1)
}

const graphs = fc.integer({ min: 2, max: 8 }).chain((nodes) => {
  const pairs = Array.from({ length: nodes }, (_, a) => Array.from({ length: a }, (_, b) => [b, a] as const)).flat()
  return fc
    .tuple(
      fc.subarray(pairs, { minLength: 1 }),
      fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 28, maxLength: 28 }),
    )
    .map(([some, weights]) => ({ nodes, edges: some.map(([a, b], i): Edge => [a, b, weights[i]! / 10]) }))
})

suite('communities of a graph', () => {
  test('are connected, no node gains by leaving one, and most are optimal by brute force', () => {
    let best = 0
    let tried = 0
    fc.assert(
      fc.property(graphs, fc.constantFrom(0.5, 1, 1.5), ({ nodes, edges }, resolution) => {
        const found = leiden(graphOf(nodes, edges), resolution)
        assert.deepEqual(leiden(graphOf(nodes, edges), resolution), found)
        const reached = quality(nodes, edges, found, resolution)
        for (let node = 0; node < nodes; node++) {
          for (let to = 0; to <= nodes; to++) {
            const moved = Int32Array.from(found)
            moved[node] = to
            assert.ok(quality(nodes, edges, moved, resolution) <= reached + 1e-9)
          }
        }
        for (const community of new Set(found)) assert.ok(isConnected(edges, found, community))
        tried++
        const most = Math.max(...partitions(nodes).map((one) => quality(nodes, edges, one, resolution)))
        if (reached >= most - 1e-9) best++
      }),
      { numRuns: 150 },
    )
    assert.ok(best > 0.8 * tried, `optimal in ${best} of ${tried}`)
  })

  function isConnected(edges: readonly Edge[], communities: Int32Array, community: number): boolean {
    const own = [...communities.keys()].filter((node) => communities[node] === community)
    const reached = new Set([own[0]!])
    for (const node of reached) {
      for (const [a, b] of edges) {
        if (a === node && communities[b] === community) reached.add(b)
        if (b === node && communities[a] === community) reached.add(a)
      }
    }
    return reached.size === own.length
  }

  test('a ring of cliques falls into its cliques; a coarse resolution joins them', () => {
    const [cliques, size] = [12, 5]
    const edges: Edge[] = []
    for (let clique = 0; clique < cliques; clique++) {
      for (let a = 0; a < size; a++) for (let b = 0; b < a; b++) edges.push([clique * size + b, clique * size + a, 1])
      const next = ((clique + 1) % cliques) * size
      edges.push([Math.min(clique * size, next + 1), Math.max(clique * size, next + 1), 1])
    }
    const graph = graphOf(cliques * size, edges)
    assert.deepEqual(
      [...leiden(graph, 1)],
      Array.from({ length: cliques * size }, (_, node) => Math.floor(node / size)),
    )
    assert.ok(new Set(leiden(graph, 0.05)).size < cliques)
    assert.equal(new Set(leiden(graph, 50)).size, cliques * size)
  })

  test('without edges every node is alone, and an empty graph has no communities', () => {
    assert.deepEqual([...leiden(graphOf(3, []), 1)], [0, 1, 2])
    assert.deepEqual([...leiden(graphOf(0, []), 1)], [])
  })
})
