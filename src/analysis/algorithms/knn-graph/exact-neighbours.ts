/**
 * The exact cosine top-k of every node, from a fast 32-bit kernel and an error bound.
 *
 * 1. The kernel returns the k + 8 highest 32-bit scores of each row.
 * 2. Those are scored again in 64 bits, from the stored vectors, and sorted by similarity descending, then position
 *    ascending. Nodes are in the order of their chunk ids, so this is id order.
 * 3. Proof: the error of a 32-bit score is at most `scoreErrorMax`. A node that was dropped scored at most as high as
 *    the last one kept, so its similarity is at most that score plus the error. If the k-th similarity of step 2 is
 *    above that, no neighbour is missing. The same holds for nodes below `minSimilarity`.
 * 4. A row without proof, for example one with many duplicates, is recomputed: first all its 32-bit scores, then in 64
 *    bits every node that the error bound does not exclude. Equal vectors are computed once.
 *
 * So the result depends only on the input, not on the kernel, its order of summation or its number of threads.
 */
import { cosine, type Nodes } from './cosine.ts'
import { firstEqualRows } from './first-equal-rows.ts'
import type { ScoreKernel } from './score-kernel.ts'

/** The number of candidates beyond k. More of them make rows without proof rarer, and cost more rescoring. */
const spare = 8

/** Half the distance between 1 and the next 32-bit number: the relative error of one rounding. */
const unit = 2 ** -24

/** Vectors whose length is this close to 1 are not scaled. The error bound includes it. */
const lengthSlack = 1e-6

/** Larger than the error of a 64-bit similarity at any supported number of dimensions. */
const doubleError = 1e-11

/**
 * Summing d products in any order, fused or not, has an error of less than d units of the product of the lengths
 * (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). Scaling to length 1 adds two, and the slack in the
 * lengths adds itself twice.
 */
export const scoreErrorMax = (dimensions: number): number => (dimensions + 8) * unit * 1.001 + 2.2 * lengthSlack

export interface Neighbours {
  /** The first row; `counts` has one entry for each row from there on. */
  readonly start: number
  readonly counts: Uint32Array
  /** The neighbours of all these rows, one row after the other, in order of rank. */
  readonly targets: Int32Array
  readonly similarities: Float64Array
}

export interface NeighbourRequest {
  readonly k: number
  readonly minSimilarity: number | null
}

/** Returns the vectors for the kernel: the stored ones if all have length 1, else a scaled copy. */
export function unitVectors({ count, dimensions, vectors }: Nodes, squares: Float64Array): Float32Array {
  if (squares.every((square) => Math.abs(Math.sqrt(square) - 1) <= lengthSlack)) return vectors
  const scaled = new Float32Array(vectors.length)
  for (let row = 0; row < count; row++) {
    const length = Math.sqrt(squares[row]!)
    for (let at = row * dimensions; at < (row + 1) * dimensions; at++) scaled[at] = vectors[at]! / length
  }
  return scaled
}

/** Scores held at once, 4 bytes each. This limits the memory beside the vectors. */
const scoresAtOnce = 24_000_000
const rowsAtOnce = 256
const redoneAtOnce = 32

export class ExactNeighbours {
  readonly #nodes: Nodes
  readonly #squares: Float64Array
  readonly #kernel: ScoreKernel
  readonly #k: number
  readonly #minSimilarity: number
  readonly #error: number
  #representatives: Int32Array | null = null
  #similarityTo: Float64Array | null = null
  /** Rows that had to be recomputed, for benchmarks. */
  redone = 0

  constructor(nodes: Nodes, squares: Float64Array, kernel: ScoreKernel, requested: NeighbourRequest) {
    this.#nodes = nodes
    this.#squares = squares
    this.#kernel = kernel
    this.#k = requested.k
    this.#minSimilarity = requested.minSimilarity ?? -1
    this.#error = scoreErrorMax(nodes.dimensions) + doubleError
  }

  async *blocks(): AsyncGenerator<Neighbours> {
    const { count } = this.#nodes
    const rows = Math.max(1, Math.min(rowsAtOnce, Math.floor(scoresAtOnce / Math.max(1, count))))
    for (let start = 0; start < count; start += rows) yield await this.#block(start, Math.min(rows, count - start))
  }

  async #block(start: number, rows: number): Promise<Neighbours> {
    const { count } = this.#nodes
    // One more, because each row is its own nearest neighbour.
    const keep = Math.min(count, this.#k + spare + 1)
    const { best, positions } = await this.#kernel.nearest(start, rows, keep)
    const found: TopK[] = []
    const unproven: { row: number; list: TopK }[] = []
    for (let i = 0; i < rows; i++) {
      const row = start + i
      const list = new TopK(this.#k)
      // Positions ascend, so equal similarities keep the order in which they were added.
      for (const position of positions.subarray(i * keep, (i + 1) * keep).sort()) {
        if (position !== row) list.add(cosine(this.#nodes, this.#squares, row, position), position)
      }
      found.push(list)
      if (keep < count && !this.#proven(list, best[(i + 1) * keep - 1]!)) unproven.push({ row, list })
    }
    for (let i = 0; i < unproven.length; i += redoneAtOnce) {
      const some = unproven.slice(i, i + redoneAtOnce)
      const scores = await this.#kernel.scores(some.map(({ row }) => row))
      for (const [j, { row, list }] of some.entries()) {
        found[row - start] = this.#searchEveryNode(row, list, scores.subarray(j * count, (j + 1) * count))
      }
    }
    this.redone += unproven.length
    return this.#gathered(start, found)
  }

  #proven(list: TopK, lastKept: number): boolean {
    const missedMax = lastKept + this.#error
    return list.last > missedMax || missedMax < this.#minSimilarity
  }

  /** The k-th candidate is a lower bound of the true k-th similarity. Nodes that cannot reach it are skipped. */
  #searchEveryNode(row: number, candidates: TopK, scores: Float32Array): TopK {
    const { count } = this.#nodes
    this.#representatives ??= firstEqualRows(this.#nodes)
    this.#similarityTo ??= new Float64Array(count).fill(Number.NaN)
    const least = Math.max(candidates.last, this.#minSimilarity) - this.#error
    const list = new TopK(this.#k)
    const touched: number[] = []
    for (let position = 0; position < count; position++) {
      if (scores[position]! < least || position === row) continue
      const representative = this.#representatives[position]!
      let similarity = this.#similarityTo[representative]!
      if (Number.isNaN(similarity)) {
        similarity = cosine(this.#nodes, this.#squares, row, representative)
        this.#similarityTo[representative] = similarity
        touched.push(representative)
      }
      list.add(similarity, position)
    }
    for (const representative of touched) this.#similarityTo[representative] = Number.NaN
    return list
  }

  #gathered(start: number, found: readonly TopK[]): Neighbours {
    const counts = Uint32Array.from(found, (list) => list.countFrom(this.#minSimilarity))
    const total = counts.reduce((sum, one) => sum + one, 0)
    const targets = new Int32Array(total)
    const similarities = new Float64Array(total)
    let at = 0
    for (const [i, list] of found.entries()) {
      targets.set(list.positions.subarray(0, counts[i]!), at)
      similarities.set(list.similarities.subarray(0, counts[i]!), at)
      at += counts[i]!
    }
    return { start, counts, targets, similarities }
  }
}

/** Keeps the k highest of the added values; of equal ones, those that were added first. */
class TopK {
  readonly similarities: Float64Array
  readonly positions: Int32Array
  #size = 0

  constructor(k: number) {
    this.similarities = new Float64Array(k)
    this.positions = new Int32Array(k)
  }

  add(similarity: number, position: number): void {
    const k = this.positions.length
    if (this.#size === k && similarity <= this.similarities[k - 1]!) return
    let at = this.#size < k ? this.#size++ : k - 1
    for (; at > 0 && this.similarities[at - 1]! < similarity; at--) {
      this.similarities[at] = this.similarities[at - 1]!
      this.positions[at] = this.positions[at - 1]!
    }
    this.similarities[at] = similarity
    this.positions[at] = position
  }

  /** The k-th highest value; minus infinity while there are fewer. */
  get last(): number {
    return this.#size < this.positions.length ? Number.NEGATIVE_INFINITY : this.similarities[this.#size - 1]!
  }

  countFrom(least: number): number {
    let count = this.#size
    while (count > 0 && this.similarities[count - 1]! < least) count--
    return count
  }
}
