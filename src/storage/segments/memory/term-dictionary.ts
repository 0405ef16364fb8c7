import { compareBytes, type SegmentData } from '../format/segment-data.ts'
import { eachToken } from '../format/segment-tokens.ts'
import { longStep, stepShift, termMask } from '../format/token-stream.ts'
import { blockTerms, otherRole, TermShapes, termsMax, writtenRole } from './term-shapes.ts'

/**
 * Maps terms, and values of columns, to numbers, and counts the postings of a term in all segments together.
 *
 * One writer adds terms. Any thread looks them up without a lock, because an entry is complete before its bucket points
 * to it. Numbers are given in order and not reused until `clear`. The text of an unused term stays until a purge overwrites it.
 *
 * The arrays are reserved at their maximum size; unused pages take no memory. A hash chain has `terms / 2^20` entries
 * on average.
 */
const textBytesMax = 2 ** 30
const bucketBits = 20

export interface DictionaryBuffers {
  readonly buckets: SharedArrayBuffer
  readonly next: SharedArrayBuffer
  readonly starts: SharedArrayBuffer
  readonly postings: SharedArrayBuffer
  readonly text: SharedArrayBuffer
  readonly shapes: WebAssembly.Memory
  /** The number of terms, the epoch, and the number of ordered blocks. */
  readonly counts: SharedArrayBuffer
}

/** A byte that does not occur in UTF-8. */
const noText = 0xff
const nothing: ReadonlySet<number> = new Set()

const sizeAt = 0
const epochAt = 1
const blocksAt = 2

export class TermDictionary {
  readonly buffers: DictionaryBuffers
  /**
   * By term number: about how many postings the term has, including chunks that are deleted or not visible. It estimates
   * the work of a search for the term. No score depends on it.
   */
  readonly postings: Uint32Array<SharedArrayBuffer>
  readonly shapes: TermShapes
  /** The bytes of a term in `text` reach from its start to the start of the next one. */
  readonly starts: Uint32Array<SharedArrayBuffer>
  readonly text: Uint8Array<SharedArrayBuffer>
  readonly #buckets: Int32Array<SharedArrayBuffer>
  readonly #next: Uint32Array<SharedArrayBuffer>
  readonly #counts: Int32Array<SharedArrayBuffer>
  readonly #encoder = new TextEncoder()
  #scratch = new Uint8Array(1024)
  /** Used by the writer only. 0 is not a term, so that 0 marks an empty bucket. */
  #size = 1
  #full = false

  constructor(buffers?: DictionaryBuffers) {
    this.buffers = buffers ?? {
      buckets: new SharedArrayBuffer(4 * 2 ** bucketBits),
      next: new SharedArrayBuffer(4 * termsMax),
      starts: new SharedArrayBuffer(4 * (termsMax + 1)),
      postings: new SharedArrayBuffer(4 * termsMax),
      text: new SharedArrayBuffer(textBytesMax),
      shapes: new TermShapes().memory,
      counts: new SharedArrayBuffer(12),
    }
    this.#buckets = new Int32Array(this.buffers.buckets)
    this.#next = new Uint32Array(this.buffers.next)
    this.starts = new Uint32Array(this.buffers.starts)
    this.postings = new Uint32Array(this.buffers.postings)
    this.text = new Uint8Array(this.buffers.text)
    this.#counts = new Int32Array(this.buffers.counts)
    this.shapes = new TermShapes(this.buffers.shapes)
  }

  /** One more than the highest term number that every thread may use. */
  get sharedSize(): number {
    return Math.max(1, Atomics.load(this.#counts, sizeAt))
  }

  /** The number of leading blocks whose sorted order is written (`term-shapes.ts`). */
  get blocks(): number {
    return Atomics.load(this.#counts, blocksAt)
  }

  /** Changes when terms are cleared or forgotten: results of earlier lookups are then invalid. */
  get epoch(): number {
    return Atomics.load(this.#counts, epochAt)
  }

  /** One more than the highest term number. */
  get size(): number {
    return this.#size
  }

  /** A limit was reached, and new terms are no longer indexed. */
  get full(): boolean {
    return this.#full
  }

  get bytes(): number {
    return this.#buckets.byteLength + this.#size * 47 + this.starts[this.#size]!
  }

  /** 0 if the term is unknown. */
  find(term: string): number {
    const length = this.#encode(term)
    return this.#lookUp(this.#scratch, 0, length)
  }

  /** 0 if the dictionary is full. */
  add(term: string): number {
    const length = this.#encode(term)
    return this.addBytes(this.#scratch, 0, length)
  }

  /** Adds a term given as UTF-8. */
  addBytes(bytes: Uint8Array, from: number, length: number): number {
    return this.#lookUp(bytes, from, length) || this.#insert(bytes, from, length)
  }

  /** Records the roles of the terms of an indexed field. */
  recordRoles(tokens: Uint32Array<ArrayBufferLike>): void {
    for (let i = 0; i < tokens.length; i++) {
      const step = tokens[i]! >>> stepShift
      recordRole(tokens[i]! & termMask, step, this.shapes.roles)
      if (step === longStep) i++
    }
  }

  /**
   * Adds roles that a thread recorded in an array of its own. In one shared array, threads would overwrite each other's
   * changes.
   */
  addRoles(added: Uint8Array): void {
    const { roles } = this.shapes
    for (let term = 0; term < added.length; term++) roles[term]! |= added[term]!
  }

  /** The number must be one that a segment contains. */
  textOf(number: number): string {
    // Copied, because a decoder does not accept shared memory.
    return Buffer.from(this.text.slice(this.starts[number]!, this.starts[number + 1]!)).toString('utf8')
  }

  /** Compares the bytes of the texts. */
  compare(a: number, b: number): number {
    const { starts, text } = this
    return compareBytes(text, starts[a]!, starts[a + 1]!, text, starts[b]!, starts[b + 1]!)
  }

  /**
   * The lengths of the terms from `from` to before `end`, and then their texts, in the form of the durable file. A
   * forgotten term keeps only its length.
   */
  pack(from: number, end = this.#size, forgotten: ReadonlySet<number> = nothing): Uint8Array {
    const count = end - from
    const start = this.starts[from]!
    const textBytes = this.starts[end]! - start
    const packed = new Uint8Array(count * 4 + textBytes)
    const lengths = new DataView(packed.buffer)
    for (let i = 0; i < count; i++) {
      lengths.setUint32(i * 4, this.starts[from + i + 1]! - this.starts[from + i]!, true)
    }
    packed.set(this.text.subarray(start, start + textBytes), count * 4)
    for (let term = from; forgotten.size > 0 && term < end; term++) {
      if (!forgotten.has(term)) continue
      packed.fill(noText, count * 4 + this.starts[term]! - start, count * 4 + this.starts[term + 1]! - start)
    }
    return packed
  }

  /** Adds the result of `pack`. Returns false if it is inconsistent, which means damage. */
  unpack(packed: Uint8Array, count: number): boolean {
    if (packed.byteLength < count * 4) return false
    const lengths = new DataView(packed.buffer, packed.byteOffset, count * 4)
    let at = count * 4
    for (let i = 0; i < count; i++) {
      const length = lengths.getUint32(i * 4, true)
      if (at + length > packed.byteLength || this.#insert(packed, at, length) === 0) return false
      at += length
    }
    return at === packed.byteLength
  }

  /**
   * Overwrites the texts of terms that no segment contains. Their numbers stay used, and no text finds them; the same
   * text gets another number if it returns.
   */
  forget(terms: Iterable<number>): void {
    for (const term of terms) {
      const [start, end] = [this.starts[term]!, this.starts[term + 1]!]
      this.text.fill(noText, start, end)
      this.shapes.forget(term)
    }
    // A thread that looked up a number before this and is about to read its text looks it up again.
    Atomics.add(this.#counts, epochAt, 1)
  }

  isForgotten(term: number): boolean {
    const start = this.starts[term]!
    return start === this.starts[term + 1] || this.text[start] === noText
  }

  clear(): void {
    this.#buckets.fill(0)
    this.postings.fill(0, 0, this.#size)
    this.#size = 1
    this.#full = false
    Atomics.add(this.#counts, epochAt, 1)
    Atomics.store(this.#counts, blocksAt, 0)
    Atomics.store(this.#counts, sizeAt, 1)
  }

  #encode(term: string): number {
    if (term.length * 3 > this.#scratch.length) this.#scratch = new Uint8Array(term.length * 3)
    return this.#encoder.encodeInto(term, this.#scratch).written
  }

  #lookUp(bytes: Uint8Array, from: number, length: number): number {
    let entry = Atomics.load(this.#buckets, bucketOf(bytes, from, length))
    while (entry !== 0) {
      const start = this.starts[entry]!
      if (this.starts[entry + 1]! - start === length) {
        let i = 0
        while (i < length && this.text[start + i] === bytes[from + i]) i++
        if (i === length) return entry
      }
      entry = this.#next[entry]!
    }
    return 0
  }

  #insert(bytes: Uint8Array, from: number, length: number): number {
    const start = this.starts[this.#size]!
    if (this.#size >= termsMax || start + length > textBytesMax) {
      this.#full = true
      return 0
    }
    const number = this.#size++
    this.text.set(bytes.subarray(from, from + length), start)
    this.starts[number + 1] = start + length
    this.postings[number] = 0
    this.shapes.set(number, bytes, from, length)
    const bucket = bucketOf(bytes, from, length)
    this.#next[number] = this.#buckets[bucket]!
    Atomics.store(this.#buckets, bucket, number)
    Atomics.store(this.#counts, sizeAt, this.#size)
    if (this.#size % blockTerms === 0) {
      this.shapes.writeOrder(this.#size / blockTerms - 1, this.starts, this.text)
      Atomics.store(this.#counts, blocksAt, this.#size / blockTerms)
    }
    return number
  }
}

/** Records the roles of all terms of a segment. */
export function recordSegmentRoles(data: SegmentData, roles: Uint8Array<ArrayBufferLike>): void {
  eachToken(data, (term, step) => recordRole(term, step, roles))
}

/** The first term of a position is the word as written. Most roles are known already. */
function recordRole(term: number, step: number, roles: Uint8Array<ArrayBufferLike>): void {
  const role = step === 0 ? otherRole : writtenRole
  if ((roles[term]! & role) === 0) roles[term]! |= role
}

function bucketOf(bytes: Uint8Array, from: number, length: number): number {
  let hash = 0x811c9dc5
  for (let i = from; i < from + length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  hash ^= hash >>> 15
  return (Math.imul(hash, 0x2c1b3c6d) >>> 12) & (2 ** bucketBits - 1)
}
