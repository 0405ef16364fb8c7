/**
 * Edit distance between two words (Damerau-Levenshtein, in the form of optimal string alignment): letters (code points)
 * inserted, removed or changed, and two neighbours swapped, which counts as one error. No letter is edited twice.
 */
export class EditDistance {
  readonly #typed: Int32Array
  readonly #max: number
  /** By letter: a bit for each position in the word that was typed. `null` if the word is too long for such bits. */
  readonly #positions: LetterPositions | null
  readonly #rows: [Int32Array, Int32Array, Int32Array]

  /** From the word that was typed, for distances up to `max`. */
  constructor(typed: Int32Array, max: number) {
    this.#typed = typed
    this.#max = max
    this.#positions = typed.length > 0 && typed.length <= bitsMax ? new LetterPositions(typed) : null
    this.#rows = [0, 1, 2].map(() => new Int32Array(typed.length + 1)) as [Int32Array, Int32Array, Int32Array]
  }

  /** Returns the distance to the first `length` letters of a word; a number above `max` if it is larger. */
  to(word: Int32Array, length: number): number {
    if (Math.abs(length - this.#typed.length) > this.#max) return this.#max + 1
    return this.#positions === null
      ? this.#walk(word, length, false)
      : this.#walkBits(this.#positions, word, length, false)
  }

  /** Returns the distance to the nearest prefix of a word. */
  toPrefix(word: Int32Array, length: number): number {
    return this.#positions === null
      ? this.#walk(word, length, true)
      : this.#walkBits(this.#positions, word, length, true)
  }

  /**
   * Computes a row of the table at once (Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit
   * distances"): bits say where a distance is one more, or one less, than its neighbour to the left or above. Only
   * the last column is summed.
   */
  #walkBits(positions: LetterPositions, word: Int32Array, length: number, anyPrefix: boolean): number {
    const columns = this.#typed.length
    const max = this.#max
    const lastColumn = columns - 1
    let [more, less] = [-1, 0]
    let [same, before] = [0, 0]
    let distance = columns
    let best = anyPrefix ? columns : max + 1
    for (let i = 0; i < length; i++) {
      const matches = positions.of(word[i]!)
      const transposed = ((~same & matches) << 1) & before
      same = ((((matches & more) + more) | 0) ^ more) | matches | less | transposed
      const besideMore = less | ~(same | more)
      const besideLess = same & more
      distance += ((besideMore >>> lastColumn) & 1) - ((besideLess >>> lastColumn) & 1)
      if (anyPrefix) best = Math.min(best, distance)
      else if (distance - (length - 1 - i) > max) return best
      const shifted = (besideMore << 1) | 1
      more = (besideLess << 1) | ~(same | shifted)
      less = shifted & same
      before = matches
    }
    return anyPrefix ? best : distance
  }

  #walk(word: Int32Array, length: number, anyPrefix: boolean): number {
    const typed = this.#typed
    const max = this.#max
    const columns = typed.length
    const far = max + 1
    let [before, last, row] = this.#rows
    for (let j = 0; j <= columns; j++) last[j] = j
    let best = anyPrefix ? columns : far
    for (let i = 1; i <= length; i++) {
      const letter = word[i - 1]!
      // Outside this band every distance is above the limit.
      const from = Math.max(1, i - max)
      const to = Math.min(columns, i + max)
      let least = from === 1 ? i : far
      row[from - 1] = least
      for (let j = from; j <= to; j++) {
        const change = last[j - 1]! + (letter === typed[j - 1] ? 0 : 1)
        const removed = j < i + max ? last[j]! + 1 : far
        let distance = Math.min(change, removed, row[j - 1]! + 1)
        if (i > 1 && j > 1 && letter === typed[j - 2] && word[i - 2] === typed[j - 1]) {
          distance = Math.min(distance, before[j - 2]! + 1)
        }
        row[j] = distance
        if (distance < least) least = distance
      }
      if (to < columns) row[to + 1] = far
      else if (anyPrefix && row[columns]! < best) best = row[columns]!
      if (least > max) return anyPrefix ? best : far
      ;[before, last, row] = [last, row, before]
    }
    return anyPrefix ? best : last[columns]!
  }
}

/** One less than the bits of a 32-bit number, because the carry needs one. */
const bitsMax = 31

class LetterPositions {
  readonly #low = new Int32Array(128)
  readonly #others = new Map<number, number>()

  constructor(word: Int32Array) {
    for (const [position, letter] of word.entries()) {
      if (letter < 128) this.#low[letter]! |= 1 << position
      else this.#others.set(letter, (this.#others.get(letter) ?? 0) | (1 << position))
    }
  }

  of(letter: number): number {
    return letter < 128 ? this.#low[letter]! : (this.#others.get(letter) ?? 0)
  }
}
