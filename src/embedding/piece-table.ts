/**
 * A hash table from the text of a vocabulary piece to its number, in a few typed arrays: 250,000 pieces take 8 MB,
 * compared with 30 MB in a `Map`. The hash is computed one UTF-16 unit at a time, so looking up longer and longer
 * pieces allocates no strings.
 */
export class PieceTable {
  /** The length of the longest piece in units. */
  readonly longest: number
  /** All pieces one after the other, and the start of each; the last entry is the end. */
  readonly #units: Uint16Array
  readonly #starts: Uint32Array
  /** The piece number plus 1, at its hash or the next free position (linear probing). */
  readonly #slots: Uint32Array
  readonly #shift: number

  /** Pieces are numbered in order. A null piece is not found. */
  constructor(pieces: readonly (string | null)[]) {
    let [units, longest] = [0, 0]
    for (const piece of pieces) {
      const { length } = piece ?? ''
      units += length
      longest = Math.max(longest, length)
    }
    this.longest = longest
    this.#units = new Uint16Array(units)
    this.#starts = new Uint32Array(pieces.length + 1)
    // At most half of the positions are filled.
    const bits = Math.ceil(Math.log2(pieces.length * 2 + 2))
    this.#shift = 32 - bits
    this.#slots = new Uint32Array(2 ** bits)
    for (const [number, piece] of pieces.entries()) {
      let at = this.#starts[number]!
      let hash = PieceTable.emptyHash
      for (let i = 0; piece !== null && i < piece.length; i++) {
        this.#units[at++] = piece.charCodeAt(i)
        hash = PieceTable.hashed(hash, piece.charCodeAt(i))
      }
      this.#starts[number + 1] = at
      if (piece === null) continue
      let slot = this.#slotOf(hash)
      while (this.#slots[slot] !== 0) slot = (slot + 1) % this.#slots.length
      this.#slots[slot] = number + 1
    }
  }

  static readonly emptyHash = 0x811c9dc5

  /** Extends the hash of a text by one unit. */
  static hashed(hash: number, unit: number): number {
    return Math.imul(hash ^ unit, 0x01000193)
  }

  /** The piece that equals `text` between two positions, whose hash is given; -1 if there is none. */
  find(text: string, from: number, end: number, hash: number): number {
    for (let slot = this.#slotOf(hash); this.#slots[slot] !== 0; slot = (slot + 1) % this.#slots.length) {
      const number = this.#slots[slot]! - 1
      if (this.#is(number, text, from, end)) return number
    }
    return -1
  }

  #slotOf(hash: number): number {
    return Math.imul(hash, 0x9e3779b1) >>> this.#shift
  }

  #is(number: number, text: string, from: number, end: number): boolean {
    const start = this.#starts[number]!
    if (this.#starts[number + 1]! - start !== end - from) return false
    for (let i = from; i < end; i++) if (this.#units[start + i - from] !== text.charCodeAt(i)) return false
    return true
  }
}
