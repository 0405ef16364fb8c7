import { type SegmentData, segmentChunksMax } from '../format/segment-data.ts'
import type { CompiledFilter } from './compile-filter.ts'
import type { GatheredScores } from './gathered-scores.ts'

/**
 * The documents of one segment that a search found, for conditions, orders and counts, which apply to documents. A
 * thread answers one call at a time, so one instance is reused.
 */
export class MatchingDocuments {
  count = 0
  readonly documents = new Uint16Array(segmentChunksMax)
  /** The best chunk of each document. */
  readonly chunks = new Uint16Array(segmentChunksMax)
  readonly scores = new Float64Array(segmentChunksMax)
  /** The number of matching chunks of each document. */
  readonly matches = new Uint32Array(segmentChunksMax)
  /** 1 if the catalog columns of the document count; marked again for each column. */
  readonly opened = new Uint8Array(segmentChunksMax)

  /** Takes over the collected scores and resets them. The first of equally good chunks is the best. */
  take({ scores, touched }: GatheredScores, { chunks, chunkDocument }: SegmentData): void {
    let at = -1
    let document = -1
    const words = (chunks + 31) >>> 5
    for (let i = 0; i < words; i++) {
      let bits = touched[i]!
      touched[i] = 0
      while (bits !== 0) {
        const chunk = (i << 5) | (31 - Math.clz32(bits & -bits))
        bits &= bits - 1
        const score = scores[chunk]!
        scores[chunk] = 0
        if (score === 0) continue
        if (chunkDocument[chunk] !== document) {
          document = chunkDocument[chunk]!
          at++
          this.documents[at] = document
          this.matches[at] = 0
          this.scores[at] = 0
        }
        this.matches[at]!++
        if (score > this.scores[at]!) {
          this.scores[at] = score
          this.chunks[at] = chunk
        }
      }
    }
    this.count = at + 1
  }

  /** Takes all documents that a filter shows, for a request without a query. */
  takeVisible(
    data: SegmentData,
    deletedAt: Int32Array<ArrayBufferLike>,
    generation: number,
    filter: CompiledFilter,
  ): void {
    const { documentFirstChunk } = data
    this.count = 0
    for (let document = 0; document < data.documents; document++) {
      const first = documentFirstChunk[document]!
      const end = documentFirstChunk[document + 1]!
      if (deletedAt[first]! <= generation) continue
      let chunk = first
      while (chunk < end && filter.maskOf(data, chunk) === 0) chunk++
      if (chunk === end) continue
      this.documents[this.count] = document
      this.chunks[this.count++] = chunk
    }
    this.opened.fill(1, 0, this.count)
  }

  /** Marks documents whose current version the filter shows; `null` means all. */
  markOpened(data: SegmentData, isCurrent: (classNumber: number) => boolean, filter: CompiledFilter | null): void {
    if (filter === null) this.opened.fill(1, 0, this.count)
    for (let i = 0; filter !== null && i < this.count; i++) {
      this.opened[i] = isOpened(data, this.chunks[i]!, isCurrent, filter) ? 1 : 0
    }
  }

  keep(holds: (document: number, opened: boolean) => boolean): void {
    let kept = 0
    for (let i = 0; i < this.count; i++) {
      if (!holds(this.documents[i]!, this.opened[i] === 1)) continue
      this.documents[kept] = this.documents[i]!
      this.chunks[kept] = this.chunks[i]!
      this.scores[kept] = this.scores[i]!
      this.matches[kept] = this.matches[i]!
      this.opened[kept++] = this.opened[i]!
    }
    this.count = kept
  }

  get totalChunks(): number {
    let total = 0
    for (let i = 0; i < this.count; i++) total += this.matches[i]!
    return total
  }
}

/** Whether the filter shows the current version of the document of a visible chunk. */
export function isOpened(
  data: SegmentData,
  visible: number,
  isCurrent: (classNumber: number) => boolean,
  filter: CompiledFilter,
): boolean {
  const { chunkClass, chunkDocument, documentFirstChunk } = data
  if (isCurrent(chunkClass[visible]!)) return filter.maskOf(data, visible) !== 0
  const document = chunkDocument[visible]!
  const end = documentFirstChunk[document + 1]!
  let chunk = documentFirstChunk[document]!
  while (chunk < end && !(isCurrent(chunkClass[chunk]!) && filter.maskOf(data, chunk) !== 0)) chunk++
  return chunk < end
}
