/**
 * Scores by chunk, and a bit for each chunk that has one: the result of searching a segment before it is ranked. All
 * zero between two searches.
 */
export class GatheredScores {
  readonly scores: Float64Array
  readonly touched: Int32Array

  constructor(scores: Float64Array, touched: Int32Array) {
    this.scores = scores
    this.touched = touched
  }

  add(chunk: number, score: number): void {
    this.touched[chunk >>> 5]! |= 1 << (chunk & 31)
    this.scores[chunk]! += score
  }

  raise(chunk: number, score: number): void {
    this.touched[chunk >>> 5]! |= 1 << (chunk & 31)
    if (score > this.scores[chunk]!) this.scores[chunk] = score
  }

  /** Passes every chunk with its score to `each`, ascending, and resets them to zero. */
  take(chunks: number, each: (chunk: number, score: number) => void): void {
    const words = (chunks + 31) >>> 5
    for (let i = 0; i < words; i++) {
      let bits = this.touched[i]!
      this.touched[i] = 0
      while (bits !== 0) {
        const chunk = (i << 5) | (31 - Math.clz32(bits & -bits))
        bits &= bits - 1
        const score = this.scores[chunk]!
        this.scores[chunk] = 0
        if (score !== 0) each(chunk, score)
      }
    }
  }
}
