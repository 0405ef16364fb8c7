import { ChunkSet } from './chunk-set.ts'
import type { PlannedClause } from './plan-keyword.ts'
import { findTerm, type SegmentImage } from './segment-image.ts'

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

/**
 * Writes into `list`, ascending, the chunks that hold at least one term of every group, in whatever field. Starts with
 * the rarest group. Returns how many.
 */
export function chunksWithAll(image: SegmentImage, groups: readonly Group[], list: Uint16Array): number {
  const ordered = groups.map((group) => ({ group, postings: postingsOf(image, group) }))
  ordered.sort((a, b) => a.postings - b.postings)
  let count = -1
  for (const { group, postings } of ordered) {
    if (postings === 0) return 0
    if (count >= 0 && postings > count * searchRatio) {
      let kept = 0
      for (let i = 0; i < count; i++) {
        const chunk = list[i]!
        if (group.some((term) => holds(image, term, chunk))) list[kept++] = chunk
      }
      count = kept
    } else {
      scratch.clear()
      for (const term of group) scratch.addTerm(image, term)
      if (count < 0) count = scratch.toList(list, image.chunks)
      else {
        let kept = 0
        for (let i = 0; i < count; i++) if (scratch.has(list[i]!)) list[kept++] = list[i]!
        count = kept
      }
    }
    if (count === 0) return 0
  }
  return Math.max(count, 0)
}
