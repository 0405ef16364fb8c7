/**
 * Which sealed segments to put together next.
 *
 * Small ones are gathered until `fanIn` of them wait, then as many as fit are merged, smallest first; a segment past
 * half the largest size is left alone. A segment of which a quarter is dead is written again, with whatever small ones
 * fit beside it. What fits is bounded by chunks and by bytes, so a merge never takes more than its memory budget.
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
  /** Fewer dead chunks than this are no reason to write a segment again. */
  readonly deadLeast: number
}

const deadShare = 0.25

/** Empty when nothing is worth it. */
export function chooseMerge<T extends MergeCandidate>(segments: readonly T[], limits: MergeLimits): T[] {
  const worn = segments.find(
    ({ chunks, aliveChunks }) =>
      chunks - aliveChunks >= Math.max(limits.deadLeast, chunks * deadShare) || (aliveChunks === 0 && chunks > 0),
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

/** Small segments that a search should have to visit at most. */
const smallSegmentsMax = 12

/**
 * How many of the youngest segments of new text to put together, given the chunks of each, the oldest first; 0 when none. Three
 * at least, and each no larger than all that is younger (or twice the youngest): every chunk is written a logarithmic number
 * of times. Of batches of 64, a chunk is written 3.7 times until it is sealed, and 3.1 segments wait; two at once were 6.6 and
 * 2.4, more than a third of what the writer did. What is an eighth of what is sealed together, as are batches of
 * an import, waits for that.
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
