import { findTerm, type SegmentImage } from '../format/segment-image.ts'
import { type BegunChunks, begunFrequency } from './begun-chunks.ts'
import { ChunkSet } from './chunk-set.ts'
import type { PlannedClause } from './plan-keyword.ts'

/** A list this many times longer than the candidates is searched, not walked. */
const searchRatio = 16

/** A chunk must hold one of the terms, or be in one of the lists. */
interface Group {
  readonly terms: readonly number[]
  readonly begun: readonly BegunChunks[]
}

export function requiredBy(image: SegmentImage, clause: PlannedClause): readonly Group[] {
  if (clause.type === 'phrase') return clause.groups.map((terms) => ({ terms, begun: [] }))
  const terms = clause.terms.map(({ term }) => term)
  return [{ terms, begun: clause.beginnings.map(({ lists }) => lists.get(image)!) }]
}

function postingsOf(image: SegmentImage, { terms, begun }: Group): number {
  let postings = begun.reduce((sum, { count }) => sum + count, 0)
  for (const term of terms) {
    const at = findTerm(image, term)
    if (at >= 0) postings += image.postingStart[at + 1]! - image.postingStart[at]!
  }
  return postings
}

function holds(image: SegmentImage, term: number, chunk: number): boolean {
  const at = findTerm(image, term)
  if (at < 0) return false
  let low = image.postingStart[at]!
  let high = image.postingStart[at + 1]!
  while (low < high) {
    const middle = (low + high) >>> 1
    if (image.postingChunk[middle]! < chunk) low = middle + 1
    else high = middle
  }
  return low < image.postingStart[at + 1]! && image.postingChunk[low] === chunk
}

const scratch = new ChunkSet()

/** Writes the chunks that hold a term of the group into `list`, ascending. Returns how many. */
function listGroup(image: SegmentImage, group: Group, list: Uint16Array): number {
  const [first] = group.terms
  if (group.terms.length === 1 && group.begun.length === 0 && first !== undefined) {
    const at = findTerm(image, first)
    if (at < 0) return 0
    const chunks = image.postingChunk.subarray(image.postingStart[at]!, image.postingStart[at + 1]!)
    list.set(chunks)
    return chunks.length
  }
  gather(image, group)
  return scratch.toList(list, image.chunks)
}

function gather(image: SegmentImage, { terms, begun }: Group): void {
  scratch.clear()
  for (const term of terms) scratch.addTerm(image, term)
  for (const { titles, bodies } of begun) {
    for (let i = 0; i < titles.length; i++) scratch.words[i]! |= titles[i]! | bodies[i]!
  }
}

/** Of the first `count` chunks in the list, leaves those that hold a term of the group. Returns how many. */
function keepGroup(image: SegmentImage, group: Group, postings: number, list: Uint16Array, count: number): number {
  let kept = 0
  if (postings > count * searchRatio) {
    for (let i = 0; i < count; i++) {
      const chunk = list[i]!
      const isHeld =
        group.terms.some((term) => holds(image, term, chunk)) ||
        group.begun.some((begun) => begunFrequency(begun, chunk) !== 0)
      if (isHeld) list[kept++] = chunk
    }
    return kept
  }
  gather(image, group)
  for (let i = 0; i < count; i++) if (scratch.has(list[i]!)) list[kept++] = list[i]!
  return kept
}

/**
 * Writes into `list`, ascending, the chunks that hold at least one term of every group, in whatever field, as far as
 * `keep` leaves them in: it sees the chunks of the rarest group, before the others are looked at. Returns how many.
 */
export function chunksWithAll(
  image: SegmentImage,
  groups: readonly Group[],
  list: Uint16Array,
  keep: (count: number) => number,
): number {
  const ordered = groups.map((group) => ({ group, postings: postingsOf(image, group) }))
  ordered.sort((a, b) => a.postings - b.postings)
  const [rarest, ...others] = ordered
  if (rarest === undefined || rarest.postings === 0) return 0
  let count = keep(listGroup(image, rarest.group, list))
  for (const { group, postings } of others) {
    if (count === 0) return 0
    count = keepGroup(image, group, postings, list, count)
  }
  return count
}
