/**
 * Finds the number of a piece by its text. All in a few arrays: 250,000 pieces are 8 MB, and as objects in a map 30.
 * The hash is taken unit by unit (UTF-16), so that whoever looks for longer and longer pieces makes no text of each.
 */
export class PieceTable {
  /** The most units that a piece has. */
  readonly longest: number
  /** Of all pieces, one after the other, and where each begins; at the end, where the last one ends. */
  readonly #units: Uint16Array
  readonly #starts: Uint32Array
  /** By hash, or the next free place after it: the number of a piece, and 1. */
  readonly #slots: Uint32Array
  readonly #shift: number

  /** Pieces are numbered in their order; those that are null are not found. */
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
    // At most half of the places are taken.
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

  /** The hash of a text and one unit more. */
  static hashed(hash: number, unit: number): number {
    return Math.imul(hash ^ unit, 0x01000193)
  }

  /** The piece that is `text` from one place to another, whose hash is given; -1 if there is none. */
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
