/**
 * Groups near-identical texts. Two texts are near-identical if the cosine of their vectors is at least the threshold
 * and they share at least a quarter of the shingles of the one that has more (w-shingling, Broder 1997).
 *
 * Texts are processed in order of publication. Each is compared with every earlier representative, and joins the
 * nearest one that is near-identical; if there is none, it becomes a representative itself. So groups do not drift
 * along chains: every member is near-identical to the representative, which is the earliest of the group. No two
 * representatives are near-identical.
 *
 * Only texts that share a shingle are compared: an inverted list of representatives for each shingle finds them and
 * counts the shared shingles. Matches are scored in 64 bits.
 */
import { cosine, type Nodes } from '../knn-graph/cosine.ts'

/** A share of the shingles of the text that has more. Neighbouring chunks of one document overlap by less. */
const sharedShareMin = 0.25

export interface DistinctText {
  /** The row of its vector; null if the vector has no direction, so that no text is near it. */
  readonly node: number | null
  /** Distinct, ascending. */
  readonly shingles: Uint32Array
}

export interface TextGroups {
  /** For each text the position of its representative, which may be itself. */
  readonly representatives: Int32Array
  /** The cosine to the representative; 1 for the representative itself. */
  readonly similarities: Float64Array
}

const textsAtOnce = 256

export async function groupTexts(
  texts: readonly DistinctText[],
  nodes: Nodes,
  squares: Float64Array,
  threshold: number,
  progress: (done: number) => Promise<void>,
): Promise<TextGroups> {
  const representatives = Int32Array.from(texts, (_, position) => position)
  const similarities = new Float64Array(texts.length).fill(1)
  const known = new ShingleLists(texts.map(({ shingles }) => shingles))
  for (const [position, text] of texts.entries()) {
    let nearest = -1
    let best = Number.NEGATIVE_INFINITY
    for (const [other, shared] of text.node === null ? [] : known.sharing(position)) {
      const { node, shingles } = texts[other]!
      if (shared < sharedShareMin * Math.max(text.shingles.length, shingles.length)) continue
      const similarity = cosine(nodes, squares, text.node!, node!)
      if (similarity < threshold || similarity < best || (similarity === best && other > nearest)) continue
      nearest = other
      best = similarity
    }
    if (nearest >= 0) {
      representatives[position] = nearest
      similarities[position] = best
    } else if (text.node !== null) known.add(position)
    if ((position + 1) % textsAtOnce === 0) await progress((position + 1) / texts.length)
  }
  await progress(1)
  return { representatives, similarities }
}

/** Inverted lists from shingles to the added texts. Shingles that occur in only one text are left out. */
class ShingleLists {
  readonly #shingles: readonly Uint32Array[]
  /** Shingles that occur in more than one text, ascending. */
  readonly #shared: Uint32Array
  /** The added positions, list after list. The list of shingle i begins at `starts[i]` and has `sizes[i]` entries. */
  readonly #starts: Uint32Array
  readonly #sizes: Uint32Array
  readonly #positions: Uint32Array
  readonly #counts: Uint32Array

  constructor(shingles: readonly Uint32Array[]) {
    this.#shingles = shingles
    const all = new Uint32Array(shingles.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const some of shingles) {
      all.set(some, at)
      at += some.length
    }
    all.sort()
    const starts: number[] = []
    const shared: number[] = []
    let room = 0
    for (let from = 0, to = 0; from < all.length; from = to) {
      while (all[to] === all[from]) to++
      if (to - from < 2) continue
      shared.push(all[from]!)
      starts.push(room)
      room += to - from
    }
    this.#shared = Uint32Array.from(shared)
    this.#starts = Uint32Array.from(starts)
    this.#sizes = new Uint32Array(shared.length)
    this.#positions = new Uint32Array(room)
    this.#counts = new Uint32Array(shingles.length)
  }

  add(position: number): void {
    for (const shingle of this.#shingles[position]!) {
      const list = this.#listOf(shingle)
      if (list < 0) continue
      this.#positions[this.#starts[list]! + this.#sizes[list]!] = position
      this.#sizes[list]!++
    }
  }

  /** Returns the added texts that share a shingle with the text, and the number of shared shingles. */
  sharing(position: number): [other: number, shared: number][] {
    const found: number[] = []
    for (const shingle of this.#shingles[position]!) {
      const list = this.#listOf(shingle)
      if (list < 0) continue
      const start = this.#starts[list]!
      for (let at = start; at < start + this.#sizes[list]!; at++) {
        const other = this.#positions[at]!
        if (this.#counts[other]!++ === 0) found.push(other)
      }
    }
    return found.map((other) => {
      const shared = this.#counts[other]!
      this.#counts[other] = 0
      return [other, shared]
    })
  }

  /** Negative if there is none. */
  #listOf(shingle: number): number {
    let low = 0
    let high = this.#shared.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const found = this.#shared[middle]!
      if (found === shingle) return middle
      if (found < shingle) low = middle + 1
      else high = middle - 1
    }
    return -1
  }
}
