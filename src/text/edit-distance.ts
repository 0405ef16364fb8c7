/**
 * Typing errors between two words: letters (code points) put in, left out or changed, and two neighbours changed about,
 * which is one error and not two. No letter is touched twice (optimal string alignment).
 */
export class EditDistance {
  readonly #wanted: Int32Array
  readonly #max: number
  /** By letter: a bit for each place of the wanted word where it stands. `null` where there are no such bits. */
  readonly #places: LetterPlaces | null
  readonly #rows: [Int32Array, Int32Array, Int32Array]

  /** From the word that was typed, as long as it is within `max`. */
  constructor(wanted: Int32Array, max: number) {
    this.#wanted = wanted
    this.#max = max
    this.#places = wanted.length > 0 && wanted.length <= bitsMax ? new LetterPlaces(wanted) : null
    this.#rows = [0, 1, 2].map(() => new Int32Array(wanted.length + 1)) as [Int32Array, Int32Array, Int32Array]
  }

  /** To the first `length` letters of a word; above `max` for anything further. */
  to(word: Int32Array, length: number): number {
    if (Math.abs(length - this.#wanted.length) > this.#max) return this.#max + 1
    return this.#places === null ? this.#walk(word, length, false) : this.#walkBits(this.#places, word, length, 'whole')
  }

  /** To the nearest beginning of a word. */
  toBeginning(word: Int32Array, length: number): number {
    return this.#places === null
      ? this.#walk(word, length, true)
      : this.#walkBits(this.#places, word, length, 'beginning')
  }

  /** How far words that go on from these letters, and their beginnings, are away at least; too little for long words. */
  leastFrom(letters: Int32Array, length: number): number {
    return this.#places === null ? 0 : this.#walkBits(this.#places, letters, length, 'goes on')
  }

  /**
   * A row of the table at once (Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances"): bits
   * say where a distance is one more, or one less, than that beside or above it. Only the last column is ever worked out.
   */
  #walkBits(places: LetterPlaces, word: Int32Array, length: number, kind: 'whole' | 'beginning' | 'goes on'): number {
    const anyBeginning = kind !== 'whole'
    const columns = this.#wanted.length
    const max = this.#max
    const lastColumn = columns - 1
    let [more, less] = [-1, 0]
    let [same, before] = [0, 0]
    let distance = columns
    let best = anyBeginning ? columns : max + 1
    for (let i = 0; i < length; i++) {
      const here = places.of(word[i]!)
      const changedAbout = ((~same & here) << 1) & before
      same = ((((here & more) + more) | 0) ^ more) | here | less | changedAbout
      const besideMore = less | ~(same | more)
      const besideLess = same & more
      distance += ((besideMore >>> lastColumn) & 1) - ((besideLess >>> lastColumn) & 1)
      if (anyBeginning) best = Math.min(best, distance)
      else if (distance - (length - 1 - i) > max) return best
      const shifted = (besideMore << 1) | 1
      more = (besideLess << 1) | ~(same | shifted)
      less = shifted & same
      before = here
    }
    if (kind !== 'goes on') return anyBeginning ? best : distance
    let inRow = length
    for (let column = 0; column < columns; column++) {
      best = Math.min(best, inRow)
      inRow += ((more >>> column) & 1) - ((less >>> column) & 1)
    }
    return best
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

/** Of a 32-bit number, the last one left free for what is carried over. */
const bitsMax = 31

class LetterPlaces {
  readonly #low = new Int32Array(128)
  readonly #others = new Map<number, number>()

  constructor(word: Int32Array) {
    for (const [place, letter] of word.entries()) {
      if (letter < 128) this.#low[letter]! |= 1 << place
      else this.#others.set(letter, (this.#others.get(letter) ?? 0) | (1 << place))
    }
  }

  of(letter: number): number {
    return letter < 128 ? this.#low[letter]! : (this.#others.get(letter) ?? 0)
  }
}
