import type { Nodes } from '../knn-graph/cosine.ts'
import { squaresOf } from '../knn-graph/cosine.ts'
import { ExactNeighbours, unitVectors } from '../knn-graph/exact-neighbours.ts'
import { openKernel } from '../knn-graph/score-kernel.ts'
import type { Graph } from './leiden.ts'

/**
 * The mutual k-nearest-neighbour graph: an edge joins two nodes that are each among the k nearest of the other, by
 * exact cosine. Its weight is the share of neighbours that they have in common. A node that is not among the nearest of
 * any of its own neighbours has no edges, and becomes noise.
 *
 * Chosen by adjusted mutual information over all-neighbour graphs and over similarities as weights: docs/analysis.md.
 */
export async function neighbourGraph(
  nodes: Nodes,
  k: number,
  threads: number,
  progress: (done: number) => Promise<void>,
): Promise<Graph> {
  const { lists, counts } = await nearestOf(nodes, k, threads, progress)
  const isAmong = (node: number, other: number): boolean => {
    for (let at = other * k; at < other * k + counts[other]!; at++) if (lists[at] === node) return true
    return false
  }
  const marks = new Int32Array(nodes.count).fill(-1)
  const starts = new Uint32Array(nodes.count + 1)
  const neighbours: number[] = []
  const weights: number[] = []
  for (let node = 0; node < nodes.count; node++) {
    const own = lists.subarray(node * k, node * k + counts[node]!)
    for (const other of own) marks[other] = node
    for (const other of own) {
      if (!isAmong(node, other)) continue
      let shared = 1
      for (let at = other * k; at < other * k + counts[other]!; at++) if (marks[lists[at]!] === node) shared++
      neighbours.push(other)
      weights.push(shared / k)
    }
    starts[node + 1] = neighbours.length
  }
  return {
    nodes: nodes.count,
    starts,
    neighbours: Uint32Array.from(neighbours),
    weights: Float64Array.from(weights),
  }
}

/** The neighbours of node i start at `i * k` in `lists`, and `counts` has their number. */
async function nearestOf(nodes: Nodes, k: number, threads: number, progress: (done: number) => Promise<void>) {
  const lists = new Int32Array(nodes.count * k)
  const counts = new Uint32Array(nodes.count)
  if (nodes.count < 2) return { lists, counts }
  const squares = squaresOf(nodes)
  const kernel = await openKernel(unitVectors(nodes, squares), nodes.dimensions, threads)
  const exact = new ExactNeighbours(nodes, squares, kernel, { k, minSimilarity: null })
  for await (const block of exact.blocks()) {
    let at = 0
    for (const [i, found] of block.counts.entries()) {
      lists.set(block.targets.subarray(at, at + found), (block.start + i) * k)
      counts[block.start + i] = found
      at += found
    }
    await progress((block.start + block.counts.length) / nodes.count)
  }
  return { lists, counts }
}
