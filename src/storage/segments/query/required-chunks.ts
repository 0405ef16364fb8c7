import { lowerBound, postingRangeOf, type SegmentData } from '../format/segment-data.ts'
import { ChunkSet } from './chunk-set.ts'
import type { PlannedClause } from './plan-keyword.ts'
import { type PrefixChunks, prefixFrequency } from './prefix-chunks.ts'

/** A list that is this many times longer than the candidates is searched by bisection, not read from end to end. */
const searchRatio = 16

/** A chunk must contain one of the terms, or be in one of the lists. */
interface Group {
  readonly terms: readonly number[]
  readonly prefixed: readonly PrefixChunks[]
}

export function requiredBy(data: SegmentData, clause: PlannedClause): readonly Group[] {
  if (clause.type === 'phrase') return clause.groups.map((terms) => ({ terms, prefixed: [] }))
  const terms = clause.terms.map(({ term }) => term)
  return [{ terms, prefixed: clause.prefixes.map(({ lists }) => lists.get(data)!) }]
}

function postingsOf(data: SegmentData, { terms, prefixed }: Group): number {
  let postings = prefixed.reduce((sum, { count }) => sum + count, 0)
  for (const term of terms) {
    const [from, end] = postingRangeOf(data, term)
    postings += end - from
  }
  return postings
}

function containsTerm(data: SegmentData, term: number, chunk: number): boolean {
  const [from, end] = postingRangeOf(data, term)
  const at = lowerBound(data.postingChunk, chunk, from, end)
  return at < end && data.postingChunk[at] === chunk
}

const scratch = new ChunkSet()

/** Writes the chunks with a term of the group into `list`, ascending. Returns how many. */
function listGroup(data: SegmentData, group: Group, list: Uint16Array): number {
  const [first] = group.terms
  if (group.terms.length === 1 && group.prefixed.length === 0 && first !== undefined) {
    const chunks = data.postingChunk.subarray(...postingRangeOf(data, first))
    list.set(chunks)
    return chunks.length
  }
  gather(data, group)
  return scratch.toList(list, data.chunks)
}

function gather(data: SegmentData, { terms, prefixed }: Group): void {
  scratch.clear()
  for (const term of terms) scratch.addTerm(data, term)
  for (const { titles, bodies } of prefixed) {
    for (let i = 0; i < titles.length; i++) scratch.words[i]! |= titles[i]! | bodies[i]!
  }
}

/** Keeps those of the first `count` chunks in the list that contain a term of the group. Returns how many. */
function keepGroup(data: SegmentData, group: Group, postings: number, list: Uint16Array, count: number): number {
  let kept = 0
  if (postings > count * searchRatio) {
    for (let i = 0; i < count; i++) {
      const chunk = list[i]!
      const isMatch =
        group.terms.some((term) => containsTerm(data, term, chunk)) ||
        group.prefixed.some((prefixed) => prefixFrequency(prefixed, chunk) !== 0)
      if (isMatch) list[kept++] = chunk
    }
    return kept
  }
  gather(data, group)
  for (let i = 0; i < count; i++) if (scratch.has(list[i]!)) list[kept++] = list[i]!
  return kept
}

/**
 * Writes into `list`, ascending, the chunks with at least one term of every group, in any field. `keep` filters the
 * chunks of the rarest group before the others are checked. Returns how many.
 */
export function chunksWithAll(
  data: SegmentData,
  groups: readonly Group[],
  list: Uint16Array,
  keep: (count: number) => number,
): number {
  const ordered = groups.map((group) => ({ group, postings: postingsOf(data, group) }))
  ordered.sort((a, b) => a.postings - b.postings)
  const [rarest, ...others] = ordered
  if (rarest === undefined || rarest.postings === 0) return 0
  let count = keep(listGroup(data, rarest.group, list))
  for (const { group, postings } of others) {
    if (count === 0) return 0
    count = keepGroup(data, group, postings, list, count)
  }
  return count
}
