/**
 * What a term looks like, in three columns that can be run through from end to end: at two million terms that takes some
 * milliseconds, needs no order among them, and a new term is seen at once. A mark before a word (`text/word-terms.ts`) is no
 * part of it. Only what passes here is read letter by letter.
 */
export interface ShapeBuffers {
  /** A bit for each letter that occurs, 32 kinds of them. */
  readonly letters: SharedArrayBuffer
  /** The first four bytes of UTF-8, the first one highest. */
  readonly heads: SharedArrayBuffer
  /** In code points, `longest` for what is longer. */
  readonly lengths: SharedArrayBuffer
}

const longest = 255
export const headBytes = 4
const mark = '='.charCodeAt(0)

/** By what a term of these bytes is found here. */
export interface Shape {
  readonly letters: number
  readonly length: number
}

export class TermShapes {
  readonly buffers: ShapeBuffers
  readonly letters: Int32Array<SharedArrayBuffer>
  readonly heads: Int32Array<SharedArrayBuffer>
  readonly lengths: Uint8Array<SharedArrayBuffer>

  constructor(termsMax: number, buffers?: ShapeBuffers) {
    this.buffers = buffers ?? {
      letters: new SharedArrayBuffer(4 * termsMax),
      heads: new SharedArrayBuffer(4 * termsMax),
      lengths: new SharedArrayBuffer(termsMax),
    }
    this.letters = new Int32Array(this.buffers.letters)
    this.heads = new Int32Array(this.buffers.heads)
    this.lengths = new Uint8Array(this.buffers.lengths)
  }

  set(term: number, bytes: Uint8Array, from: number, length: number): void {
    const start = wordStart(bytes, from, from + length)
    const shape = shapeOf(bytes, start, from + length)
    this.letters[term] = shape.letters
    this.lengths[term] = shape.length
    this.heads[term] = headOf(bytes, start, from + length).head
  }
}

/** Where the word begins in the bytes of a term. */
export function wordStart(bytes: Uint8Array<ArrayBufferLike>, from: number, end: number): number {
  return from < end && bytes[from] === mark ? from + 1 : from
}

export function shapeOf(bytes: Uint8Array<ArrayBufferLike>, from: number, end: number): Shape {
  let letters = 0
  let length = 0
  for (let at = from; at < end; ) {
    const first = bytes[at]!
    const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    // The last byte has the lowest bits of the code point; neighbours in the alphabet differ in them.
    letters |= 1 << bytes[Math.min(at + size, end) - 1]!
    length++
    at += size
  }
  return { letters, length: Math.min(length, longest) }
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
