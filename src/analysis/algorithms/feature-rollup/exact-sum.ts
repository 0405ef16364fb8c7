/**
 * A sum with an error of less than one unit in the last place, in any order of the numbers. The rounding error of each
 * addition is kept separately (Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997).
 */
export class ExactSum {
  count = 0
  #plain = 0
  #parts: number[] = []

  add(value: number): void {
    this.count++
    this.#plain += value
    let carried = value
    const parts: number[] = []
    for (const part of this.#parts) {
      const [large, small] = Math.abs(carried) < Math.abs(part) ? [part, carried] : [carried, part]
      carried = large + small
      const lost = small - (carried - large)
      if (lost !== 0) parts.push(lost)
    }
    parts.push(carried)
    this.#parts = parts
  }

  /** Null if nothing was added. */
  get value(): number | null {
    if (this.count === 0) return null
    // After an overflow the parts are not valid.
    return Number.isFinite(this.#plain) ? this.#parts.reduceRight((sum, part) => sum + part, 0) : this.#plain
  }
}
