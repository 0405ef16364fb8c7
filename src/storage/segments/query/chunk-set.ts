import { postingRangeOf, type SegmentData, segmentChunksMax } from '../format/segment-data.ts'

/** A set of chunk numbers of one segment. */
export class ChunkSet {
  readonly words = new Int32Array(segmentChunksMax / 32)

  clear(): void {
    this.words.fill(0)
  }

  has(chunk: number): boolean {
    return (this.words[chunk >>> 5]! & (1 << (chunk & 31))) !== 0
  }

  add(chunk: number): void {
    this.words[chunk >>> 5]! |= 1 << (chunk & 31)
  }

  addTerm(data: SegmentData, term: number): void {
    const { words } = this
    const chunks = data.postingChunk
    const [from, end] = postingRangeOf(data, term)
    for (let p = from; p < end; p++) {
      const chunk = chunks[p]!
      words[chunk >>> 5]! |= 1 << (chunk & 31)
    }
  }

  /** Writes the numbers ascending into `list`; returns how many. */
  toList(list: Uint16Array, chunks: number): number {
    let count = 0
    const wordCount = (chunks + 31) >>> 5
    for (let i = 0; i < wordCount; i++) {
      let bits = this.words[i]!
      while (bits !== 0) {
        const lowest = 31 - Math.clz32(bits & -bits)
        list[count++] = (i << 5) | lowest
        bits &= bits - 1
      }
    }
    return count
  }
}
