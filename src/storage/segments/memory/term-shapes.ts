/**
 * What a term looks like, in columns that can be run through from end to end: at two million terms that takes a few
 * milliseconds, needs no order among them, and a new term is seen at once. A mark before a word (`text/word-terms.ts`) is no
 * part of it. Only what passes here is read letter by letter. Letters are told apart by 32 kinds, a bit each.
 *
 * As soon as 262,144 terms are there they are a block, and get an order beside them, in which those that are as long and have
 * the same of eleven kinds of letters stand together, with copies of their shapes: most of a block need not be looked at. The
 * order stays.
 *
 * One WebAssembly memory, so that a kernel reads it in place (`query/term-kernel.wat` knows the places).
 */
export const termsMax = 2 ** 25
const columnBytes = 4 * termsMax
const pageBytes = 65_536
export const blockTerms = 2 ** 18
const blocksMax = termsMax / blockTerms

/** The letters that words in Latin script have, and lack, most evenly; others are of the same kinds. */
const groupKinds = Array.from('eaionrstlud', (letter) => letter.charCodeAt(0) & 31)
const letterGroups = 2 ** groupKinds.length

/** By group of letters: those that all of its terms have, and of the eleven kinds no others. */
export const groupLetters = Int32Array.from({ length: letterGroups }, (_, group) =>
  groupKinds.reduce((letters, kind, bit) => letters | (((group >>> bit) & 1) << kind), 0),
)
export const allGroupLetters = groupLetters.at(-1)!

/** Words of this length, and longer ones, are grouped as one length. */
export const longestGrouped = 15
/** By length, and then by letters. */
const groupsOfBlock = (longestGrouped + 1) * letterGroups

/** In code points; for what is longer too. */
const longest = 255
export const headBytes = 4
const mark = '='.charCodeAt(0)

/** A word as it is written, and another form of one, such as its stem. */
export const writtenRole = 1
export const otherRole = 2

/** By what a term of these bytes is found here. */
export interface Shape {
  /** Those that occur, and those that occur more than once. */
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
  /** What a term was in the texts: a set of these bits, none for one that was in no text. */
  readonly roles: Uint8Array
  /** By block: its terms by group; their shapes; and where in that order, counted from the block's first one, groups begin. */
  readonly order: Uint32Array
  readonly orderedLetters: Int32Array
  readonly orderedRepeated: Int32Array
  readonly orderedHeads: Int32Array
  /** The four bytes after a head, which nothing but the order has. */
  readonly orderedSeconds: Int32Array
  readonly groupStarts: Uint32Array

  constructor(memory?: WebAssembly.Memory) {
    const pages = (9 * columnBytes) / pageBytes
    this.memory = memory ?? new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    const { buffer } = this.memory
    const [letters, repeated, heads] = [0, 1, 2].map((i) => new Int32Array(buffer, i * columnBytes, termsMax))
    this.letters = letters!
    this.repeated = repeated!
    this.heads = heads!
    this.lengths = new Uint8Array(buffer, 3 * columnBytes, termsMax)
    this.roles = new Uint8Array(buffer, 3 * columnBytes + termsMax, termsMax)
    this.groupStarts = new Uint32Array(buffer, 3 * columnBytes + 2 * termsMax, groupsOfBlock * blocksMax)
    this.orderedLetters = new Int32Array(buffer, 4 * columnBytes, termsMax)
    this.orderedRepeated = new Int32Array(buffer, 5 * columnBytes, termsMax)
    this.orderedHeads = new Int32Array(buffer, 6 * columnBytes, termsMax)
    this.order = new Uint32Array(buffer, 7 * columnBytes, termsMax)
    this.orderedSeconds = new Int32Array(buffer, 8 * columnBytes, termsMax)
  }

  /** Of a block whose terms are all there; their bytes lie in `text`, each from its start to that of the next. */
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
      const place = first + next[groups[i]!]!++
      this.order[place] = first + i
      this.orderedLetters[place] = this.letters[first + i]!
      this.orderedRepeated[place] = this.repeated[first + i]!
      this.orderedHeads[place] = this.heads[first + i]!
      const end = starts[first + i + 1]!
      this.orderedSeconds[place] = headOf(text, wordStart(text, starts[first + i]!, end) + headBytes, end).head
    }
  }

  /** Of a term that no text has any more, and whose block may be in order or not. */
  forget(term: number): void {
    const block = Math.floor(term / blockTerms)
    const first = block * blockTerms
    const group = this.#groupOf(term)
    const start = this.groupStarts[block * groupsOfBlock + group]!
    const end = group + 1 < groupsOfBlock ? this.groupStarts[block * groupsOfBlock + group + 1]! : blockTerms
    const at = this.order.subarray(first + start, first + end).indexOf(term)
    const copies = at < 0 ? [] : [this.orderedLetters, this.orderedRepeated, this.orderedHeads, this.orderedSeconds]
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

/** Where the word begins in the bytes of a term. */
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
    // The last byte has the lowest bits of the code point; neighbours in the alphabet differ in them.
    const kind = 1 << bytes[Math.min(at, end) - 1]!
    repeated |= letters & kind
    letters |= kind
  }
  return { letters, repeated, length: Math.min(length, longest) }
}

/** With the bits that count, where a beginning is shorter than a head. */
export function headOf(bytes: Uint8Array<ArrayBufferLike>, from: number, end: number): { head: number; bits: number } {
  let head = 0
  let bits = 0
  for (let i = 0; i < headBytes; i++) {
    head = (head << 8) | (from + i < end ? bytes[from + i]! : 0)
    bits = (bits << 8) | (from + i < end ? 0xff : 0)
  }
  return { head, bits }
}
