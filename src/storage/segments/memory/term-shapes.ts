/**
 * The shapes of terms, in columns that are scanned from end to end. With two million terms a scan takes a few
 * milliseconds, needs no order, and sees a new term at once. A mark before a word (`text/word-terms.ts`) does not
 * belong to its shape. Only terms that pass here are compared letter by letter. Letters are divided into 32 kinds, one
 * bit each.
 *
 * Every 262,144 terms become a block with an order, in which terms of the same length with the same of eleven kinds of
 * letters are adjacent, with copies of their shapes: most of a block need not be scanned. The order never changes.
 *
 * They are one WebAssembly memory, so that a kernel reads it in place (`query/term-kernel.wat`).
 */
export const termsMax = 2 ** 25
const columnBytes = 4 * termsMax
const pageBytes = 65_536
export const blockTerms = 2 ** 18
const blocksMax = termsMax / blockTerms

/** The letters that divide words in Latin script most evenly; other letters share their kinds. */
const groupKinds = Array.from('eaionrstlud', (letter) => letter.charCodeAt(0) & 31)
const letterGroups = 2 ** groupKinds.length

/** By group of letters: those of the eleven kinds that the terms of the group have. */
export const groupLetters = Int32Array.from({ length: letterGroups }, (_, group) =>
  groupKinds.reduce((letters, kind, bit) => letters | (((group >>> bit) & 1) << kind), 0),
)
export const allGroupLetters = groupLetters.at(-1)!

/** Words of this length and longer ones have the same group length. */
export const longestGrouped = 15
/** The groups are ordered by length, and then by letters. */
export const groupsOfBlock = (longestGrouped + 1) * letterGroups

/** The largest stored length, in code points. Longer words have it too. */
const longest = 255
export const headBytes = 4
const mark = '='.charCodeAt(0)

/** A word as written, and another form of a word, such as its stem. */
export const writtenRole = 1
export const otherRole = 2

/** The start of each column, in bytes. */
export const shapeOffsets = {
  letters: 0,
  repeated: columnBytes,
  heads: 2 * columnBytes,
  lengths: 3 * columnBytes,
  roles: 3 * columnBytes + termsMax,
  groupStarts: 3 * columnBytes + 2 * termsMax,
  orderedLetters: 4 * columnBytes,
  orderedRepeated: 5 * columnBytes,
  orderedHeads: 6 * columnBytes,
  order: 7 * columnBytes,
  orderedNextBytes: 8 * columnBytes,
  /** By position in the order: the four bytes after the head of the term. */
  nextBytes: 4 * columnBytes,
}

/** The properties by which a similar term is found. */
export interface Shape {
  /** The kinds of letters that occur, and those that occur more than once. */
  readonly letters: number
  readonly repeated: number
  /** In code points. */
  readonly length: number
}

export class TermShapes {
  readonly memory: WebAssembly.Memory
  readonly letters: Int32Array
  readonly repeated: Int32Array
  /** The first four bytes of UTF-8, the first one highest. */
  readonly heads: Int32Array
  readonly lengths: Uint8Array
  /** The roles of a term in the texts: a set of these bits, empty for a term in no text. */
  readonly roles: Uint8Array
  /** By block: its terms by group, their shapes, and the start of each group relative to the block. */
  readonly order: Uint32Array
  readonly orderedLetters: Int32Array
  readonly orderedRepeated: Int32Array
  readonly orderedHeads: Int32Array
  /** The four bytes after a head. Only the ordered copy has them. */
  readonly orderedNextBytes: Int32Array
  readonly groupStarts: Uint32Array

  constructor(memory?: WebAssembly.Memory) {
    const pages = (9 * columnBytes) / pageBytes
    this.memory = memory ?? new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    const { buffer } = this.memory
    const column = (name: keyof typeof shapeOffsets) => new Int32Array(buffer, shapeOffsets[name], termsMax)
    this.letters = column('letters')
    this.repeated = column('repeated')
    this.heads = column('heads')
    this.lengths = new Uint8Array(buffer, shapeOffsets.lengths, termsMax)
    this.roles = new Uint8Array(buffer, shapeOffsets.roles, termsMax)
    this.groupStarts = new Uint32Array(buffer, shapeOffsets.groupStarts, groupsOfBlock * blocksMax)
    this.orderedLetters = column('orderedLetters')
    this.orderedRepeated = column('orderedRepeated')
    this.orderedHeads = column('orderedHeads')
    this.order = new Uint32Array(buffer, shapeOffsets.order, termsMax)
    this.orderedNextBytes = column('orderedNextBytes')
  }

  /** All terms of the block must exist; the bytes of each reach in `text` from its start to that of the next. */
  writeOrder(block: number, starts: Uint32Array<ArrayBufferLike>, text: Uint8Array<ArrayBufferLike>): void {
    const first = block * blockTerms
    const groups = Uint16Array.from({ length: blockTerms }, (_, i) => this.#groupOf(first + i))
    const next = new Uint32Array(groupsOfBlock)
    for (const group of groups) next[group]!++
    let start = 0
    for (let group = 0; group < groupsOfBlock; group++) {
      const count = next[group]!
      this.groupStarts[block * groupsOfBlock + group] = start
      next[group] = start
      start += count
    }
    for (let i = 0; i < blockTerms; i++) {
      const position = first + next[groups[i]!]!++
      this.order[position] = first + i
      this.orderedLetters[position] = this.letters[first + i]!
      this.orderedRepeated[position] = this.repeated[first + i]!
      this.orderedHeads[position] = this.heads[first + i]!
      const end = starts[first + i + 1]!
      this.orderedNextBytes[position] = headOf(text, wordStart(text, starts[first + i]!, end) + headBytes, end).head
    }
  }

  /** Removes a term that no text contains any more; its block may be ordered or not. */
  forget(term: number): void {
    const block = Math.floor(term / blockTerms)
    const first = block * blockTerms
    const group = this.#groupOf(term)
    const start = this.groupStarts[block * groupsOfBlock + group]!
    const end = group + 1 < groupsOfBlock ? this.groupStarts[block * groupsOfBlock + group + 1]! : blockTerms
    const at = this.order.subarray(first + start, first + end).indexOf(term)
    const copies = at < 0 ? [] : [this.orderedLetters, this.orderedRepeated, this.orderedHeads, this.orderedNextBytes]
    for (const column of copies) column[first + start + at] = 0
    for (const column of [this.letters, this.repeated, this.heads, this.lengths, this.roles]) column[term] = 0
  }

  set(term: number, bytes: Uint8Array<ArrayBufferLike>, from: number, length: number): void {
    const start = wordStart(bytes, from, from + length)
    const shape = shapeOf(bytes, start, from + length)
    this.letters[term] = shape.letters
    this.repeated[term] = shape.repeated
    this.lengths[term] = shape.length
    this.roles[term] = 0
    this.heads[term] = headOf(bytes, start, from + length).head
  }

  #groupOf(term: number): number {
    const letters = this.letters[term]!
    let group = Math.min(this.lengths[term]!, longestGrouped)
    for (let bit = groupKinds.length - 1; bit >= 0; bit--) group = (group << 1) | ((letters >>> groupKinds[bit]!) & 1)
    return group
  }
}

/** The start of the word in the bytes of a term. */
export function wordStart(bytes: Uint8Array<ArrayBufferLike>, from: number, end: number): number {
  return from < end && bytes[from] === mark ? from + 1 : from
}

export function shapeOf(bytes: Uint8Array<ArrayBufferLike>, from: number, end: number): Shape {
  let letters = 0
  let repeated = 0
  let length = 0
  for (let at = from; at < end; length++) {
    const first = bytes[at]!
    at += first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    // The last byte has the lowest bits of the code point, which differ between neighbours in the alphabet.
    const kind = 1 << bytes[Math.min(at, end) - 1]!
    repeated |= letters & kind
    letters |= kind
  }
  return { letters, repeated, length: Math.min(length, longest) }
}

/** The head and a mask of its significant bits, for a prefix that is shorter than a head. */
export function headOf(bytes: Uint8Array<ArrayBufferLike>, from: number, end: number): { head: number; bits: number } {
  let head = 0
  let bits = 0
  for (let i = 0; i < headBytes; i++) {
    head = (head << 8) | (from + i < end ? bytes[from + i]! : 0)
    bits = (bits << 8) | (from + i < end ? 0xff : 0)
  }
  return { head, bits }
}
