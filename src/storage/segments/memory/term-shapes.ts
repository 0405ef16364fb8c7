/**
 * What a term looks like, in columns that can be run through from end to end: at two million terms that takes a few
 * milliseconds, needs no order among them, and a new term is seen at once. A mark before a word (`text/word-terms.ts`) is no
 * part of it. Only what passes here is read letter by letter. Letters are told apart by 32 kinds, a bit each.
 *
 * One WebAssembly memory, so that a kernel reads it in place (`query/term-kernel.wat` knows the places).
 */
export const termsMax = 2 ** 25
const columnBytes = 4 * termsMax
const pageBytes = 65_536

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

  constructor(memory?: WebAssembly.Memory) {
    const pages = (3 * columnBytes + 2 * termsMax) / pageBytes
    this.memory = memory ?? new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    const { buffer } = this.memory
    const [letters, repeated, heads] = [0, 1, 2].map((i) => new Int32Array(buffer, i * columnBytes, termsMax))
    this.letters = letters!
    this.repeated = repeated!
    this.heads = heads!
    this.lengths = new Uint8Array(buffer, 3 * columnBytes, termsMax)
    this.roles = new Uint8Array(buffer, 3 * columnBytes + termsMax, termsMax)
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
