import { lowerBound, postingRangeOf, type SegmentData } from '../format/segment-data.ts'
import { ChunkSet } from './chunk-set.ts'
import type { PlannedClause } from './plan-keyword.ts'
import { type PrefixChunks, prefixFrequency } from './prefix-chunks.ts'

/** A list this many times longer than the candidates is searched by bisection, not walked. */
const searchRatio = 16

/** A chunk must contain one of the terms, or be in one of the lists. */
interface Group {
  readonly terms: readonly number[]
  readonly prefixed: readonly PrefixChunks[]
}

export function requiredBy(image: SegmentData, clause: PlannedClause): readonly Group[] {
  if (clause.type === 'phrase') return clause.groups.map((terms) => ({ terms, prefixed: [] }))
  const terms = clause.terms.map(({ term }) => term)
  return [{ terms, prefixed: clause.beginnings.map(({ lists }) => lists.get(image)!) }]
}

function postingsOf(image: SegmentData, { terms, prefixed }: Group): number {
  let postings = prefixed.reduce((sum, { count }) => sum + count, 0)
  for (const term of terms) {
    const [from, end] = postingRangeOf(image, term)
    postings += end - from
  }
  return postings
}

function holds(image: SegmentData, term: number, chunk: number): boolean {
  const [from, end] = postingRangeOf(image, term)
  const at = lowerBound(image.postingChunk, chunk, from, end)
  return at < end && image.postingChunk[at] === chunk
}

const scratch = new ChunkSet()

/** Writes the chunks with a term of the group into `list`, ascending. Returns how many. */
function listGroup(image: SegmentData, group: Group, list: Uint16Array): number {
  const [first] = group.terms
  if (group.terms.length === 1 && group.prefixed.length === 0 && first !== undefined) {
    const chunks = image.postingChunk.subarray(...postingRangeOf(image, first))
    list.set(chunks)
    return chunks.length
  }
  gather(image, group)
  return scratch.toList(list, image.chunks)
}

function gather(image: SegmentData, { terms, prefixed }: Group): void {
  scratch.clear()
  for (const term of terms) scratch.addTerm(image, term)
  for (const { titles, bodies } of prefixed) {
    for (let i = 0; i < titles.length; i++) scratch.words[i]! |= titles[i]! | bodies[i]!
  }
}

/** Keeps those of the first `count` chunks in the list that contain a term of the group. Returns how many. */
function keepGroup(image: SegmentData, group: Group, postings: number, list: Uint16Array, count: number): number {
  let kept = 0
  if (postings > count * searchRatio) {
    for (let i = 0; i < count; i++) {
      const chunk = list[i]!
      const isHeld =
        group.terms.some((term) => holds(image, term, chunk)) ||
        group.prefixed.some((prefixed) => prefixFrequency(prefixed, chunk) !== 0)
      if (isHeld) list[kept++] = chunk
    }
    return kept
  }
  gather(image, group)
  for (let i = 0; i < count; i++) if (scratch.has(list[i]!)) list[kept++] = list[i]!
  return kept
}

/**
 * Writes into `list`, ascending, the chunks with at least one term of every group, in any field. `keep` filters the
 * chunks of the rarest group before the others are checked. Returns how many.
 */
export function chunksWithAll(
  image: SegmentData,
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
