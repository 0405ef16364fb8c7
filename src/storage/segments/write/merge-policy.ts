/**
 * Chooses which sealed segments to merge next.
 *
 * Small segments are collected until `fanIn` of them wait. Then as many as fit are merged, the smallest first. A
 * segment above half the largest size is left alone. A segment with a quarter of its chunks deleted is rewritten,
 * together with small ones that fit. The chunks and the bytes of a merge are limited, except for a segment that is
 * rewritten alone.
 */
export interface MergeCandidate {
  readonly chunks: number
  readonly liveChunks: number
  readonly bytes: number
}

export interface MergeLimits {
  readonly segmentChunks: number
  readonly memoryBytes: number
  readonly fanIn: number
  /** A segment with fewer deleted chunks than this is not rewritten. */
  readonly deletedMin: number
}

const deletedShare = 0.25

/** Returns no segments if no merge is worth it. */
export function chooseMerge<T extends MergeCandidate>(segments: readonly T[], limits: MergeLimits): T[] {
  const withDeletions = segments.find(
    ({ chunks, liveChunks }) =>
      chunks - liveChunks >= Math.max(limits.deletedMin, chunks * deletedShare) || (liveChunks === 0 && chunks > 0),
  )
  const small = segments
    .filter((segment) => segment !== withDeletions && segment.liveChunks * 2 <= limits.segmentChunks)
    .sort((a, b) => a.liveChunks - b.liveChunks)
  if (withDeletions === undefined && small.length < limits.fanIn) return []
  const chosen: T[] = withDeletions === undefined ? [] : [withDeletions]
  let chunks = withDeletions?.liveChunks ?? 0
  let bytes = withDeletions?.bytes ?? 0
  for (const segment of small) {
    chunks += segment.liveChunks
    bytes += segment.bytes
    if (chunks > limits.segmentChunks || bytes > limits.memoryBytes) break
    chosen.push(segment)
  }
  return withDeletions === undefined && chosen.length < 2 ? [] : chosen
}

/** The number of small segments that a search should visit at most. */
const smallSegmentsMax = 12

/**
 * Returns how many of the youngest small segments to merge, given the chunks of each, the oldest first; 0 for none. It
 * merges at least three, each no larger than all younger ones together (or twice the youngest), so that every chunk is
 * written a logarithmic number of times. Segments of an eighth of `sealChunks` and more, such as batches of an import,
 * wait to be sealed. If there are more than `smallSegmentsMax`, the youngest two are merged in any case, if they fit.
 */
export function joinedYoungest(sizes: readonly number[], chunksMax: number, sealChunks: number): number {
  const youngest = sizes.at(-1) ?? 0
  let joined = 0
  let chunks = 0
  for (const size of sizes.toReversed()) {
    const isSmall = size <= Math.max(chunks, 2 * youngest)
    if (!isSmall || chunks + size > chunksMax) break
    chunks += size
    joined++
  }
  if (joined >= 3 && youngest * 8 < sealChunks) return joined
  const [older = chunksMax, younger = chunksMax] = sizes.slice(-2)
  return sizes.length > smallSegmentsMax && older + younger <= chunksMax ? 2 : 0
}
