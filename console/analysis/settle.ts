import iterate from 'graphology-layout-forceatlas2/iterate.js'
import type { Graph } from './graph-of-edges.ts'

/** Numbers for each node and each tie in what the library works on. */
const [ofNode, ofTie] = [10, 3]
const [massAt, easeAt, sizeAt] = [6, 7, 8]

/** Where a node begins: along a spiral, evenly. No two are at the same place, and no chance is in it. */
function startOf(place: number): readonly [x: number, y: number] {
  const [angle, radius] = [place * 2.399963, 10 * Math.sqrt(place + 1)]
  return [radius * Math.cos(angle), radius * Math.sin(angle)]
}

/**
 * Lets forces find a place for every node (ForceAtlas2): ties pull, all push each other apart. The same graph comes to
 * the same picture. Each step moves it on; the array of places is the caller's to keep.
 */
export class Settling {
  readonly #nodes: Float32Array
  readonly #ties: Float32Array
  readonly #settings: Parameters<typeof iterate>[0]
  readonly #count: number

  constructor({ subjectIds, ties, strengths }: Pick<Graph, 'subjectIds' | 'ties' | 'strengths'>) {
    this.#count = subjectIds.length
    this.#nodes = new Float32Array(this.#count * ofNode)
    this.#ties = new Float32Array(strengths.length * ofTie)
    for (let i = 0; i < this.#count; i += 1) {
      this.#nodes.set(startOf(i), i * ofNode)
      for (const one of [massAt, easeAt, sizeAt]) this.#nodes[i * ofNode + one] = 1
    }
    for (let i = 0; i < strengths.length; i += 1) {
      const [a, b] = [ties[2 * i]! * ofNode, ties[2 * i + 1]! * ofNode]
      this.#ties.set([a, b, strengths[i]!], i * ofTie)
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
    iterate(this.#settings, this.#nodes, this.#ties)
  }

  /** x and y of every node, one after the other. */
  places(): Float32Array<ArrayBuffer> {
    const places = new Float32Array(this.#count * 2)
    for (let i = 0; i < this.#count; i += 1) {
      places[2 * i] = this.#nodes[i * ofNode]!
      places[2 * i + 1] = this.#nodes[i * ofNode + 1]!
    }
    return places
  }
}
