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
