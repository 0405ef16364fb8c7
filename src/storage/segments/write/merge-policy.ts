/**
 * Chooses which sealed segments to merge next.
 *
 * Small segments are collected until `fanIn` of them wait, then as many as fit are merged, smallest first; a segment
 * above half the largest size is left alone. A segment of which a quarter is deleted is rewritten, together with small
 * ones that fit. The sum is limited by chunks and by bytes, so a merge never exceeds its memory budget.
 */
export interface MergeCandidate {
  readonly chunks: number
  readonly aliveChunks: number
  readonly bytes: number
}

export interface MergeLimits {
  readonly segmentChunks: number
  readonly memoryBytes: number
  readonly fanIn: number
  /** A segment with fewer deleted chunks than this is not rewritten. */
  readonly deletedLeast: number
}

const deletedShare = 0.25

/** Empty if no merge is worth it. */
export function chooseMerge<T extends MergeCandidate>(segments: readonly T[], limits: MergeLimits): T[] {
  const worn = segments.find(
    ({ chunks, aliveChunks }) =>
      chunks - aliveChunks >= Math.max(limits.deletedLeast, chunks * deletedShare) || (aliveChunks === 0 && chunks > 0),
  )
  const small = segments
    .filter((segment) => segment !== worn && segment.aliveChunks * 2 <= limits.segmentChunks)
    .sort((a, b) => a.aliveChunks - b.aliveChunks)
  if (worn === undefined && small.length < limits.fanIn) return []
  const chosen: T[] = worn === undefined ? [] : [worn]
  let chunks = worn?.aliveChunks ?? 0
  let bytes = worn?.bytes ?? 0
  for (const segment of small) {
    chunks += segment.aliveChunks
    bytes += segment.bytes
    if (chunks > limits.segmentChunks || bytes > limits.memoryBytes) break
    chosen.push(segment)
  }
  return worn === undefined && chosen.length < 2 ? [] : chosen
}

/** The number of small segments that a search should visit at most. */
const smallSegmentsMax = 12

/**
 * How many of the youngest segments of new text to merge, given the chunks of each, the oldest first; 0 for none. At
 * least three, and each no larger than all younger ones together (or twice the youngest): every chunk is then written a
 * logarithmic number of times. Segments of an eighth of `sealChunks` and more, as batches of an import are, wait to be
 * sealed.
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
