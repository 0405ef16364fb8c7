import { findTerm, type SegmentImage } from '../format/segment-image.ts'
import { ChunkSet } from './chunk-set.ts'
import type { PlannedClause } from './plan-keyword.ts'

/** A list this many times longer than the candidates is searched, not walked. */
const searchRatio = 16

type Group = readonly number[]

export function groupsOfClause(clause: PlannedClause): readonly Group[] {
  return clause.type === 'word' ? [clause.terms.map(({ term }) => term)] : clause.groups
}

function postingsOf(image: SegmentImage, group: Group): number {
  let postings = 0
  for (const term of group) {
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
  const [first] = group
  if (group.length === 1 && first !== undefined) {
    const at = findTerm(image, first)
    if (at < 0) return 0
    const chunks = image.postingChunk.subarray(image.postingStart[at]!, image.postingStart[at + 1]!)
    list.set(chunks)
    return chunks.length
  }
  scratch.clear()
  for (const term of group) scratch.addTerm(image, term)
  return scratch.toList(list, image.chunks)
}

/** Of the first `count` chunks in the list, leaves those that hold a term of the group. Returns how many. */
function keepGroup(image: SegmentImage, group: Group, postings: number, list: Uint16Array, count: number): number {
  let kept = 0
  if (postings > count * searchRatio) {
    for (let i = 0; i < count; i++) {
      const chunk = list[i]!
      if (group.some((term) => holds(image, term, chunk))) list[kept++] = chunk
    }
    return kept
  }
  scratch.clear()
  for (const term of group) scratch.addTerm(image, term)
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
