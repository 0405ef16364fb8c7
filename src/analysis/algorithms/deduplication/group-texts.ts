/**
 * Groups of texts that are near-identical: those whose vectors have a cosine of at least the threshold, and that share at
 * least a quarter of the shingles of the one that has more.
 *
 * Texts come in the order of their publication. Each is compared with every representative before it, joins the nearest of
 * those that it is near-identical to, and where there is none becomes a representative itself. So a group has no chain
 * that drifts: every member is near-identical to the representative, which is the earliest of the group. And nothing is
 * missed: no two representatives are near-identical.
 *
 * Only texts that share a shingle are compared: a list of representatives for each shingle finds them, and counts how
 * many they share. What was found is scored in 64 bits.
 */
import { cosine, type Nodes } from '../knn-graph/cosine.ts'

/** Of the shingles of the text that has more. Neighbouring chunks of one document overlap by less. */
const sharedShareMin = 0.25

export interface DistinctText {
  /** The row whose vector stands for it; null where that has no direction, and so the text is near to none. */
  readonly node: number | null
  /** Distinct, ascending. */
  readonly shingles: Uint32Array
}

export interface TextGroups {
  /** For each text the place of its representative, which may be its own. */
  readonly representatives: Int32Array
  /** To the representative; 1 where it is one. */
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
  const representatives = Int32Array.from(texts, (_, place) => place)
  const similarities = new Float64Array(texts.length).fill(1)
  const known = new ShingleLists(texts.map(({ shingles }) => shingles))
  for (const [place, text] of texts.entries()) {
    let nearest = -1
    let best = Number.NEGATIVE_INFINITY
    for (const [other, shared] of text.node === null ? [] : known.sharing(place)) {
      const { node, shingles } = texts[other]!
      if (shared < sharedShareMin * Math.max(text.shingles.length, shingles.length)) continue
      const similarity = cosine(nodes, squares, text.node!, node!)
      if (similarity < threshold || similarity < best || (similarity === best && other > nearest)) continue
      nearest = other
      best = similarity
    }
    if (nearest >= 0) {
      representatives[place] = nearest
      similarities[place] = best
    } else if (text.node !== null) known.add(place)
    if ((place + 1) % textsAtOnce === 0) await progress((place + 1) / texts.length)
  }
  await progress(1)
  return { representatives, similarities }
}

/** Which of the texts that were added have which shingles. One that stands in a single text is shared by none, and left out. */
class ShingleLists {
  readonly #shingles: readonly Uint32Array[]
  /** Those that stand in more than one text, ascending. */
  readonly #shared: Uint32Array
  /** The places that were added, list after list: that of shingle i begins at `starts[i]` and has `sizes[i]`. */
  readonly #starts: Uint32Array
  readonly #sizes: Uint32Array
  readonly #places: Uint32Array
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
    this.#places = new Uint32Array(room)
    this.#counts = new Uint32Array(shingles.length)
  }

  add(place: number): void {
    for (const shingle of this.#shingles[place]!) {
      const list = this.#listOf(shingle)
      if (list < 0) continue
      this.#places[this.#starts[list]! + this.#sizes[list]!] = place
      this.#sizes[list]!++
    }
  }

  /** The added texts that share a shingle with the text, with how many. */
  sharing(place: number): [other: number, shared: number][] {
    const found: number[] = []
    for (const shingle of this.#shingles[place]!) {
      const list = this.#listOf(shingle)
      if (list < 0) continue
      const start = this.#starts[list]!
      for (let at = start; at < start + this.#sizes[list]!; at++) {
        const other = this.#places[at]!
        if (this.#counts[other]!++ === 0) found.push(other)
      }
    }
    return found.map((other) => {
      const shared = this.#counts[other]!
      this.#counts[other] = 0
      return [other, shared]
    })
  }

  /** Below 0 where it has none. */
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
