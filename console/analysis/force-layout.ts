import iterate from 'graphology-layout-forceatlas2/iterate.js'
import type { Graph } from './graph-of-edges.ts'

/** The library's array has this many numbers per node and per edge. */
const [numbersPerNode, numbersPerEdge] = [10, 3]
const [massAt, convergenceAt, sizeAt] = [6, 7, 8]

/**
 * Returns the initial position of a node, on a spiral that advances by the golden angle. Positions are evenly spaced,
 * and nothing is random.
 */
function startOf(node: number): readonly [x: number, y: number] {
  const [angle, radius] = [node * 2.399963, 10 * Math.sqrt(node + 1)]
  return [radius * Math.cos(angle), radius * Math.sin(angle)]
}

/**
 * Lays out a graph with ForceAtlas2 (Jacomy et al., 2014): edges attract, and all nodes repel each other. The same
 * graph always gets the same layout. Each `step` moves the nodes. The caller owns the array that `positions` returns.
 */
export class ForceLayout {
  readonly #nodes: Float32Array
  readonly #edges: Float32Array
  readonly #settings: Parameters<typeof iterate>[0]
  readonly #count: number

  constructor({ subjectIds, edges, strengths }: Pick<Graph, 'subjectIds' | 'edges' | 'strengths'>) {
    this.#count = subjectIds.length
    this.#nodes = new Float32Array(this.#count * numbersPerNode)
    this.#edges = new Float32Array(strengths.length * numbersPerEdge)
    for (let i = 0; i < this.#count; i += 1) {
      this.#nodes.set(startOf(i), i * numbersPerNode)
      for (const one of [massAt, convergenceAt, sizeAt]) this.#nodes[i * numbersPerNode + one] = 1
    }
    for (let i = 0; i < strengths.length; i += 1) {
      const [a, b] = [edges[2 * i]! * numbersPerNode, edges[2 * i + 1]! * numbersPerNode]
      this.#edges.set([a, b, strengths[i]!], i * numbersPerEdge)
      for (const node of [a, b]) this.#nodes[node + massAt]! += strengths[i]!
    }
    this.#settings = {
      linLogMode: false,
      outboundAttractionDistribution: false,
      adjustSizes: false,
      edgeWeightInfluence: 1,
      scalingRatio: 2,
      strongGravityMode: true,
      gravity: 0.05,
      slowDown: 1 + Math.log(Math.max(1, this.#count)) / 2,
      barnesHutOptimize: this.#count > 400,
      barnesHutTheta: 0.8,
    }
  }

  step(): void {
    iterate(this.#settings, this.#nodes, this.#edges)
  }

  /** Returns x and y of every node in turn. */
  positions(): Float32Array<ArrayBuffer> {
    const positions = new Float32Array(this.#count * 2)
    for (let i = 0; i < this.#count; i += 1) {
      positions[2 * i] = this.#nodes[i * numbersPerNode]!
      positions[2 * i + 1] = this.#nodes[i * numbersPerNode + 1]!
    }
    return positions
  }
}
