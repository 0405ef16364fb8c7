/**
 * Typing errors between two words: letters (code points) put in, left out or changed, and two neighbours changed about,
 * which is one error and not two. No letter is touched twice (optimal string alignment).
 */
export class EditDistance {
  readonly #wanted: Int32Array
  readonly #max: number
  readonly #rows: [Int32Array, Int32Array, Int32Array]

  /** From the word that was typed, as long as it is within `max`. */
  constructor(wanted: Int32Array, max: number) {
    this.#wanted = wanted
    this.#max = max
    this.#rows = [0, 1, 2].map(() => new Int32Array(wanted.length + 1)) as [Int32Array, Int32Array, Int32Array]
  }

  /** To the first `length` letters of a word; above `max` for anything further. */
  to(word: Int32Array, length: number): number {
    if (Math.abs(length - this.#wanted.length) > this.#max) return this.#max + 1
    return this.#walk(word, length, false)
  }

  /** To the nearest beginning of a word. */
  toBeginning(word: Int32Array, length: number): number {
    return this.#walk(word, length, true)
  }

  #walk(word: Int32Array, length: number, anyBeginning: boolean): number {
    const wanted = this.#wanted
    const max = this.#max
    const columns = wanted.length
    const far = max + 1
    let [before, last, row] = this.#rows
    for (let j = 0; j <= columns; j++) last[j] = j
    let best = anyBeginning ? columns : far
    for (let i = 1; i <= length; i++) {
      const letter = word[i - 1]!
      // Outside this band every distance is above the limit.
      const from = Math.max(1, i - max)
      const to = Math.min(columns, i + max)
      let least = from === 1 ? i : far
      row[from - 1] = least
      for (let j = from; j <= to; j++) {
        const change = last[j - 1]! + (letter === wanted[j - 1] ? 0 : 1)
        const leftOut = j < i + max ? last[j]! + 1 : far
        let distance = Math.min(change, leftOut, row[j - 1]! + 1)
        if (i > 1 && j > 1 && letter === wanted[j - 2] && word[i - 2] === wanted[j - 1]) {
          distance = Math.min(distance, before[j - 2]! + 1)
        }
        row[j] = distance
        if (distance < least) least = distance
      }
      if (to < columns) row[to + 1] = far
      else if (anyBeginning && row[columns]! < best) best = row[columns]!
      if (least > max) return anyBeginning ? best : far
      ;[before, last, row] = [last, row, before]
    }
    return anyBeginning ? best : last[columns]!
  }
}
