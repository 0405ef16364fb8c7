import { compareBytes, type SegmentImage } from '../format/segment-image.ts'
import { eachToken } from '../format/segment-tokens.ts'
import { longStep, stepShift, termMask } from '../format/token-stream.ts'
import { blockTerms, otherRole, TermShapes, termsMax, writtenRole } from './term-shapes.ts'

/**
 * Text -> number, of terms and of the values of columns alike, and how many postings a term has in all segments together.
 *
 * One writer adds, any thread looks up without a lock: an entry is complete before its bucket points to it. Numbers are
 * given in order and never taken back. A term that vanished keeps its text until a purge overwrites it.
 *
 * The arrays are reserved at their limit; pages that are not used take no memory. A hash chain holds `terms / 2^20`
 * entries on average.
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
  /** How many terms there are, how often all of them were taken out, and how many blocks of them are in order. */
  readonly counts: SharedArrayBuffer
}

/** In no UTF-8. */
const noText = 0xff
const nothing: ReadonlySet<number> = new Set()

const sizeAt = 0
const epochAt = 1
const blocksAt = 2

/** Entries of the writer's string cache; about 100 bytes each. */
const cacheMax = 100_000

export class TermDictionary {
  readonly buffers: DictionaryBuffers
  /**
   * By term number, as of about now, chunks that are dead or out of a caller's sight included: the work that a search for
   * the term may be. No score depends on it.
   */
  readonly postings: Uint32Array<SharedArrayBuffer>
  readonly shapes: TermShapes
  /** The bytes of a term lie in `text` from its start to that of the next. */
  readonly starts: Uint32Array<SharedArrayBuffer>
  readonly text: Uint8Array<SharedArrayBuffer>
  readonly #buckets: Int32Array<SharedArrayBuffer>
  readonly #next: Uint32Array<SharedArrayBuffer>
  readonly #counts: Int32Array<SharedArrayBuffer>
  readonly #cache = new Map<string, number>()
  readonly #encoder = new TextEncoder()
  #scratch = new Uint8Array(1024)
  /** Known to the writer only; 0 is no term, so that an empty bucket can be 0. */
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

  /** One more than the highest term number that any thread may look at. */
  get sharedSize(): number {
    return Math.max(1, Atomics.load(this.#counts, sizeAt))
  }

  /** How many blocks of terms have their order beside them (`term-shapes.ts`), from the first on. */
  get blocks(): number {
    return Atomics.load(this.#counts, blocksAt)
  }

  /** Changes when numbers are given anew: what was looked up before means nothing any more. */
  get epoch(): number {
    return Atomics.load(this.#counts, epochAt)
  }

  /** One more than the highest term number. */
  get size(): number {
    return this.#size
  }

  /** A limit was reached: terms that are new from then on are not indexed. */
  get full(): boolean {
    return this.#full
  }

  get bytes(): number {
    return this.#buckets.byteLength + this.#size * 47 + this.starts[this.#size]!
  }

  /** 0 when unknown. */
  find(term: string): number {
    const length = this.#encode(term)
    return this.#lookUp(this.#scratch, 0, length)
  }

  /** 0 when the dictionary is full. */
  add(term: string): number {
    const cached = this.#cache.get(term)
    if (cached !== undefined) return cached
    const length = this.#encode(term)
    const number = this.#lookUp(this.#scratch, 0, length) || this.#insert(this.#scratch, 0, length)
    if (this.#cache.size >= cacheMax) this.#cache.clear()
    if (number !== 0) this.#cache.set(term, number)
    return number
  }

  /** The same of a term's UTF-8, without remembering it. */
  addBytes(bytes: Uint8Array, from: number, length: number): number {
    return this.#lookUp(bytes, from, length) || this.#insert(bytes, from, length)
  }

  /** Terms of a field that is indexed. */
  noteWords(tokens: Uint32Array<ArrayBufferLike>): void {
    for (let i = 0; i < tokens.length; i++) {
      const step = tokens[i]! >>> stepShift
      noteRole(tokens[i]! & termMask, step, this.shapes.roles)
      if (step === longStep) i++
    }
  }

  /** What several threads noted, each for itself: in one array they would undo what another has just written. */
  addRoles(noted: Uint8Array): void {
    const { roles } = this.shapes
    for (let term = 0; term < noted.length; term++) roles[term]! |= noted[term]!
  }

  /** Of a number that a segment holds. */
  textOf(number: number): string {
    // Copied, because a decoder takes no shared memory.
    return Buffer.from(this.text.slice(this.starts[number]!, this.starts[number + 1]!)).toString('utf8')
  }

  /** By the bytes of their texts. */
  compare(a: number, b: number): number {
    const { starts, text } = this
    return compareBytes(text, starts[a]!, starts[a + 1]!, text, starts[b]!, starts[b + 1]!)
  }

  /**
   * The texts of terms `from` up to, and without, `end`, each with its length before it, as the durable file keeps them.
   * Of those that are to be forgotten only the length is kept.
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

  /** Adds what `pack` gave. Returns false when it does not fit together, which means damage. */
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
   * Overwrites the texts of terms that no segment holds. Their numbers stay taken and are found by no text any more; the
   * same text, should it come again, gets another one.
   */
  forget(terms: Iterable<number>): void {
    for (const term of terms) {
      const [start, end] = [this.starts[term]!, this.starts[term + 1]!]
      this.text.fill(noText, start, end)
      this.shapes.forget(term)
    }
    this.#cache.clear()
    // Who has a number from before and is about to read its text looks it up anew.
    Atomics.add(this.#counts, epochAt, 1)
  }

  isForgotten(term: number): boolean {
    const start = this.starts[term]!
    return start === this.starts[term + 1] || this.text[start] === noText
  }

  clear(): void {
    this.#buckets.fill(0)
    this.postings.fill(0, 0, this.#size)
    this.#cache.clear()
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

/** What its terms are in the fields of a segment. */
export function noteSegment(image: SegmentImage, roles: Uint8Array<ArrayBufferLike>): void {
  eachToken(image, (term, step) => noteRole(term, step, roles))
}

/** The first of a position is the word as it is written. Most are known already. */
function noteRole(term: number, step: number, roles: Uint8Array<ArrayBufferLike>): void {
  const role = step === 0 ? otherRole : writtenRole
  if ((roles[term]! & role) === 0) roles[term]! |= role
}

function bucketOf(bytes: Uint8Array, from: number, length: number): number {
  let hash = 0x811c9dc5
  for (let i = from; i < from + length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  hash ^= hash >>> 15
  return (Math.imul(hash, 0x2c1b3c6d) >>> 12) & (2 ** bucketBits - 1)
}
