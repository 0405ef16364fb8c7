/**
 * The exact cosine top-K of every node, by a fast 32-bit kernel and a proof.
 *
 * 1. The kernel gives each row its k + 8 highest 32-bit scores.
 * 2. Those are scored again in 64 bits, from the vectors as they are stored, and sorted by similarity descending, then
 *    place ascending. Nodes come in the order of their chunk ids, so this is the order of ids.
 * 3. Proof: a 32-bit score is off by at most `scoreErrorMax`. A node that was not kept scored at most as high as the
 *    last one kept, so its similarity is at most that plus the error. Where the k-th of step 2 is above that, nobody is
 *    missing; and nobody is missed whom `minSimilarity` would refuse.
 * 4. A row without proof (as among many duplicates) is done again: all its scores, and in 64 bits everything that the
 *    error leaves a chance. Equal vectors are computed once.
 *
 * So the result follows from the input alone, not from the kernel, its order of summing or its number of threads.
 */
import { cosine, type Nodes } from './cosine.ts'
import { firstEqualRows } from './first-equal-rows.ts'
import type { ScoreKernel } from './score-kernel.ts'

/** Candidates beyond k: makes rows without proof rare; more cost more rescoring. */
const spare = 8

/** Half the distance between 1 and the next 32-bit number: the relative error of one rounding. */
const unit = 2 ** -24

/** Lengths this near to 1 need no copy of the vectors that is scaled; the error allows for it. */
const lengthSlack = 1e-6

/** More than the error of a similarity in 64 bits at any number of dimensions that is possible here. */
const doubleError = 1e-11

/**
 * Summing d products in any order, fused or not, is off by less than d units of the product of the lengths (Higham,
 * Accuracy and Stability, 3.1); scaling to length 1 adds two, and the slack in the lengths adds itself twice.
 */
export const scoreErrorMax = (dimensions: number): number => (dimensions + 8) * unit * 1.001 + 2.2 * lengthSlack

export interface Neighbours {
  /** The first row; one count for each row from there on. */
  readonly start: number
  readonly counts: Uint32Array
  /** The neighbours of all these rows, one after the other, each row's in order of rank. */
  readonly targets: Int32Array
  readonly similarities: Float64Array
}

export interface Wanted {
  readonly k: number
  readonly minSimilarity: number | null
}

/** The vectors the kernel needs: the stored ones where all have length 1, else a scaled copy. */
export function unitVectors({ count, dimensions, vectors }: Nodes, squares: Float64Array): Float32Array {
  if (squares.every((square) => Math.abs(Math.sqrt(square) - 1) <= lengthSlack)) return vectors
  const scaled = new Float32Array(vectors.length)
  for (let row = 0; row < count; row++) {
    const length = Math.sqrt(squares[row]!)
    for (let at = row * dimensions; at < (row + 1) * dimensions; at++) scaled[at] = vectors[at]! / length
  }
  return scaled
}

/** Scores held at once, in numbers of 4 bytes: what bounds the memory beside the vectors. */
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
  #remembered: Float64Array | null = null
  /** Rows that had to be done again, for whoever measures. */
  redone = 0

  constructor(nodes: Nodes, squares: Float64Array, kernel: ScoreKernel, wanted: Wanted) {
    this.#nodes = nodes
    this.#squares = squares
    this.#kernel = kernel
    this.#k = wanted.k
    this.#minSimilarity = wanted.minSimilarity ?? -1
    this.#error = scoreErrorMax(nodes.dimensions) + doubleError
  }

  async *blocks(): AsyncGenerator<Neighbours> {
    const { count } = this.#nodes
    const rows = Math.max(1, Math.min(rowsAtOnce, Math.floor(scoresAtOnce / Math.max(1, count))))
    for (let start = 0; start < count; start += rows) yield await this.#block(start, Math.min(rows, count - start))
  }

  async #block(start: number, rows: number): Promise<Neighbours> {
    const { count } = this.#nodes
    // One more, because a row is its own nearest.
    const keep = Math.min(count, this.#k + spare + 1)
    const { best, places } = await this.#kernel.nearest(start, rows, keep)
    const found: Ranked[] = []
    const unproven: { row: number; list: Ranked }[] = []
    for (let i = 0; i < rows; i++) {
      const row = start + i
      const list = new Ranked(this.#k)
      // Ascending places: among equal similarities the list keeps the order in which they came.
      for (const place of places.subarray(i * keep, (i + 1) * keep).sort()) {
        if (place !== row) list.add(cosine(this.#nodes, this.#squares, row, place), place)
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

  #proven(list: Ranked, lastKept: number): boolean {
    const missedMax = lastKept + this.#error
    return list.last > missedMax || missedMax < this.#minSimilarity
  }

  /** The k-th of the candidates is a lower bound of the true k-th: what cannot reach it is not looked at. */
  #searchEveryNode(row: number, candidates: Ranked, scores: Float32Array): Ranked {
    const { count } = this.#nodes
    this.#representatives ??= firstEqualRows(this.#nodes)
    this.#remembered ??= new Float64Array(count).fill(Number.NaN)
    const least = Math.max(candidates.last, this.#minSimilarity) - this.#error
    const list = new Ranked(this.#k)
    const touched: number[] = []
    for (let place = 0; place < count; place++) {
      if (scores[place]! < least || place === row) continue
      const representative = this.#representatives[place]!
      let similarity = this.#remembered[representative]!
      if (Number.isNaN(similarity)) {
        similarity = cosine(this.#nodes, this.#squares, row, representative)
        this.#remembered[representative] = similarity
        touched.push(representative)
      }
      list.add(similarity, place)
    }
    for (const representative of touched) this.#remembered[representative] = Number.NaN
    return list
  }

  #gathered(start: number, found: readonly Ranked[]): Neighbours {
    const counts = Uint32Array.from(found, (list) => list.countFrom(this.#minSimilarity))
    const total = counts.reduce((sum, one) => sum + one, 0)
    const targets = new Int32Array(total)
    const similarities = new Float64Array(total)
    let at = 0
    for (const [i, list] of found.entries()) {
      targets.set(list.places.subarray(0, counts[i]!), at)
      similarities.set(list.similarities.subarray(0, counts[i]!), at)
      at += counts[i]!
    }
    return { start, counts, targets, similarities }
  }
}

/** The k highest of what is added; of equals, those that were added first. */
class Ranked {
  readonly similarities: Float64Array
  readonly places: Int32Array
  #size = 0

  constructor(k: number) {
    this.similarities = new Float64Array(k)
    this.places = new Int32Array(k)
  }

  add(similarity: number, place: number): void {
    const k = this.places.length
    if (this.#size === k && similarity <= this.similarities[k - 1]!) return
    let at = this.#size < k ? this.#size++ : k - 1
    for (; at > 0 && this.similarities[at - 1]! < similarity; at--) {
      this.similarities[at] = this.similarities[at - 1]!
      this.places[at] = this.places[at - 1]!
    }
    this.similarities[at] = similarity
    this.places[at] = place
  }

  /** The k-th highest; below everything while there are fewer. */
  get last(): number {
    return this.#size < this.places.length ? Number.NEGATIVE_INFINITY : this.similarities[this.#size - 1]!
  }

  countFrom(least: number): number {
    let count = this.#size
    while (count > 0 && this.similarities[count - 1]! < least) count--
    return count
  }
}
