import { catalogRows } from '../../../document/rows.ts'
import type { CatalogNumbers } from './catalog-numbers.ts'
import { PairFilterBuilder } from './pair-filter.ts'
import { type CatalogColumn, exceptionCode, writeSegmentData } from './segment-data.ts'
import { storeTokens } from './segment-tokens.ts'
import { longStep, stepShift, termMask } from './token-stream.ts'

/**
 * Builds segment data from documents in the order of their ids, with chunks in the order of theirs. New text and merges
 * both use it. A merge builds the postings again from the token numbers, which needs no code of its own and drops
 * deleted chunks on the way.
 */
export class SegmentBuilder {
  readonly #scratch: TermScratch
  readonly #chunkDocument = new Words()
  readonly #chunkVersion = new Words()
  readonly #chunkClass = new Words()
  readonly #chunkLength = new Words()
  readonly #chunkKey = new Words()
  readonly #vectorKey = new Words()
  readonly #bodyStart = new Words()
  readonly #chunkIds = new Texts()
  readonly #versionIds = new Texts()
  readonly #documentIds = new Texts()
  readonly #titleStart = new Words()
  readonly #titleLength = new Words()
  readonly #titleChunk = new Words()
  readonly #documentFirstChunk = new Words()
  readonly #documentPublished: number[] = []
  /** In the order of the table of fields. */
  readonly #catalog = catalogRows.map(({ kind }) =>
    kind === 'texts' ? new Lists() : kind === 'text' ? new Words() : new Numbers(),
  )
  readonly #bodyTokens = new Words()
  readonly #titleTokens = new Words()

  constructor(scratch: TermScratch) {
    this.#scratch = scratch
  }

  get chunks(): number {
    return this.#chunkClass.length
  }

  addDocument(id: Uint8Array<ArrayBufferLike>, publishedAt: number, catalog: CatalogNumbers): void {
    this.#documentIds.push(id)
    this.#documentFirstChunk.push(this.chunks)
    this.#documentPublished.push(publishedAt)
    catalog.forEach((value, i) => {
      const column = this.#catalog[i]!
      if (column instanceof Lists) column.push(value as Uint32Array<ArrayBufferLike>)
      else column.push(value as number)
    })
  }

  /** Adds a version of the last document. Returns its number, for `addChunk`. */
  addVersion(id: Uint8Array<ArrayBufferLike>, title: Uint32Array<ArrayBufferLike>, titleLength: number): number {
    this.#versionIds.push(id)
    this.#titleStart.push(this.#titleTokens.length)
    this.#titleTokens.append(title)
    this.#titleLength.push(titleLength)
    this.#titleChunk.push(this.chunks)
    return this.#titleLength.length - 1
  }

  addChunk(chunk: {
    id: Uint8Array<ArrayBufferLike>
    version: number
    /** Whether this is the first chunk of its version's text. */
    first: boolean
    classNumber: number
    key: number
    vectorKey: number
    /** The number of positions of the body alone. */
    length: number
    body: Uint32Array<ArrayBufferLike>
  }): void {
    if (chunk.first) this.#titleChunk.array[chunk.version] = this.chunks
    this.#chunkIds.push(chunk.id)
    this.#chunkDocument.push(this.#documentPublished.length - 1)
    this.#chunkVersion.push(chunk.version)
    this.#chunkClass.push(chunk.classNumber)
    this.#chunkKey.push(chunk.key)
    this.#vectorKey.push(chunk.vectorKey)
    this.#chunkLength.push(chunk.length + this.#titleLength.array[chunk.version]!)
    this.#bodyStart.push(this.#bodyTokens.length)
    this.#bodyTokens.append(chunk.body)
  }

  finish(): Uint8Array<ArrayBuffer> {
    this.#bodyStart.push(this.#bodyTokens.length)
    this.#titleStart.push(this.#titleTokens.length)
    this.#documentFirstChunk.push(this.chunks)
    return writeSegmentData({
      chunkDocument: Uint16Array.from(this.#chunkDocument.view()),
      chunkVersion: Uint16Array.from(this.#chunkVersion.view()),
      chunkClass: this.#chunkClass.view(),
      chunkLength: this.#chunkLength.view(),
      chunkWord: chunkWords(this.#chunkClass.view(), this.#chunkLength.view()),
      chunkKey: this.#chunkKey.view(),
      vectorKey: this.#vectorKey.view(),
      bodyStart: this.#bodyStart.view(),
      chunkIdStart: this.#chunkIds.starts(),
      chunkIds: this.#chunkIds.bytes(),
      versionIdStart: this.#versionIds.starts(),
      versionIds: this.#versionIds.bytes(),
      titleStart: this.#titleStart.view(),
      titleLength: this.#titleLength.view(),
      titleChunk: Uint16Array.from(this.#titleChunk.view()),
      documentIdStart: this.#documentIds.starts(),
      documentIds: this.#documentIds.bytes(),
      documentFirstChunk: this.#documentFirstChunk.view(),
      documentPublished: Float64Array.from(this.#documentPublished),
      catalog: Object.fromEntries(catalogRows.map(({ property }, i) => [property, contentOf(this.#catalog[i]!)])),
      ...this.#wordsAndPostings(),
      pairSlices: this.#pairSlices(),
    })
  }

  #pairSlices(): Uint32Array {
    const { array: bodyStart } = this.#bodyStart
    const { array: titleStart } = this.#titleStart
    const versionOf = this.#chunkVersion.view()
    const terms = versionOf.reduce(
      (sum, version) => sum + titleStart[version + 1]! - titleStart[version]!,
      this.#bodyTokens.length,
    )
    const filter = new PairFilterBuilder(this.chunks, terms)
    versionOf.forEach((version, chunk) => {
      filter.add(chunk, this.#titleTokens.array, titleStart[version]!, titleStart[version + 1]!)
      filter.add(chunk, this.#bodyTokens.array, bodyStart[chunk]!, bodyStart[chunk + 1]!)
    })
    return filter.slices
  }

  /** If memory runs out, the counters are cleared, so that the next build does not find the counts of this one. */
  #wordsAndPostings() {
    try {
      return this.#countedPostings()
    } catch (error) {
      this.#scratch.clear()
      throw error
    }
  }

  /**
   * Passes over the token numbers several times: counts the postings, fills the lists, and replaces term numbers by
   * positions in the list of terms.
   */
  #countedPostings() {
    const body = this.#bodyTokens.array
    const title = this.#titleTokens.array
    const bodyStart = this.#bodyStart.array
    const titleStart = this.#titleStart.array
    const versionOf = this.#chunkVersion.array
    const chunks = this.chunks
    this.#scratch.reserve(Math.max(highestTerm(this.#bodyTokens.view()), highestTerm(this.#titleTokens.view())))
    const { frequency, next } = this.#scratch
    const inChunk = new Words()
    const distinct = new Words()

    const collect = (tokens: Uint32Array, from: number, to: number, unit: number) => {
      for (let i = from; i < to; i++) {
        const word = tokens[i]!
        if (word >>> stepShift === longStep) i++
        const term = word & termMask
        if (frequency[term] === 0) inChunk.push(term)
        frequency[term]! += unit
      }
    }
    const collectChunk = (chunk: number) => {
      inChunk.length = 0
      const version = versionOf[chunk]!
      collect(title, titleStart[version]!, titleStart[version + 1]!, 0x10000)
      collect(body, bodyStart[chunk]!, bodyStart[chunk + 1]!, 1)
    }

    for (let chunk = 0; chunk < chunks; chunk++) {
      collectChunk(chunk)
      for (let i = 0; i < inChunk.length; i++) {
        const term = inChunk.array[i]!
        frequency[term] = 0
        if (next[term] === 0) distinct.push(term)
        next[term]! += 1
      }
    }
    const term = Uint32Array.from(distinct.view()).sort()
    const postingStart = new Uint32Array(term.length + 1)
    for (let i = 0; i < term.length; i++) {
      postingStart[i + 1] = postingStart[i]! + next[term[i]!]!
      next[term[i]!] = postingStart[i]!
    }
    const postings = postingStart[term.length]!
    const postingChunk = new Uint16Array(postings)
    const postingFrequency = new Uint8Array(postings)
    const exceptions: [number, number][] = []
    for (let chunk = 0; chunk < chunks; chunk++) {
      collectChunk(chunk)
      for (let i = 0; i < inChunk.length; i++) {
        const number = inChunk.array[i]!
        const found = frequency[number]!
        frequency[number] = 0
        const posting = next[number]!
        next[number] = posting + 1
        postingChunk[posting] = chunk
        const code =
          found >>> 16 < 4 && (found & 0xffff) < 64 ? ((found >>> 16) << 6) | (found & 0xffff) : exceptionCode
        postingFrequency[posting] = code
        if (code === exceptionCode) exceptions.push([posting, found])
      }
    }
    for (let i = 0; i < term.length; i++) next[term[i]!] = i
    const tokens = storeTokens(this.#bodyTokens.view(), this.#titleTokens.view(), next, term.length)
    for (let i = 0; i < term.length; i++) next[term[i]!] = 0
    exceptions.sort((a, b) => a[0] - b[0])
    return {
      ...tokens,
      term,
      postingStart,
      postingChunk,
      postingFrequency,
      exceptionPosting: Uint32Array.from(exceptions, ([posting]) => posting),
      exceptionFrequency: Uint32Array.from(exceptions, ([, found]) => found),
    }
  }
}

/**
 * Two counters for every term number, all zero between two builds. A thread reuses them, because allocating new ones
 * would take longer than a small build.
 */
export class TermScratch {
  frequency = new Uint32Array(1024)
  next = new Uint32Array(1024)

  reserve(term: number): void {
    if (term < this.frequency.length) return
    const size = 2 ** Math.ceil(Math.log2(term + 1))
    const [frequency, next] = [new Uint32Array(size), new Uint32Array(size)]
    this.frequency = frequency
    this.next = next
  }

  clear(): void {
    this.frequency.fill(0)
    this.next.fill(0)
  }
}

function chunkWords(classes: Uint32Array, lengths: Uint32Array): Uint32Array {
  const fits = (words: Uint32Array) => words.every((word) => word < 65_536)
  if (!fits(classes) || !fits(lengths)) return new Uint32Array(0)
  return classes.map((number, chunk) => ((number << 16) | lengths[chunk]!) >>> 0)
}

function contentOf(column: Lists | Words | Numbers): CatalogColumn {
  if (column instanceof Lists) return { starts: column.starts(), values: column.words.view() }
  return { starts: null, values: column.view() }
}

function highestTerm(tokens: Uint32Array<ArrayBufferLike>): number {
  let highest = 0
  for (let i = 0; i < tokens.length; i++) {
    const word = tokens[i]!
    if (word >>> stepShift === longStep) i++
    if ((word & termMask) > highest) highest = word & termMask
  }
  return highest
}

class Numbers {
  readonly #list: number[] = []

  push(number: number): void {
    this.#list.push(number)
  }

  view(): Float64Array {
    return Float64Array.from(this.#list)
  }
}

/** A growing array of 32-bit words. */
class Words {
  array = new Uint32Array(256)
  length = 0

  push(word: number): void {
    if (this.length === this.array.length) this.#grow(this.length + 1)
    this.array[this.length++] = word
  }

  append(words: Uint32Array<ArrayBufferLike>): void {
    if (this.length + words.length > this.array.length) this.#grow(this.length + words.length)
    this.array.set(words, this.length)
    this.length += words.length
  }

  view(): Uint32Array {
    return this.array.subarray(0, this.length)
  }

  #grow(lengthMin: number): void {
    const larger = new Uint32Array(Math.max(lengthMin, this.array.length * 2))
    larger.set(this.array)
    this.array = larger
  }
}

/** Lists of words, concatenated, and the start of each. */
class Lists {
  readonly words = new Words()
  readonly #starts = new Words()

  push(list: Uint32Array<ArrayBufferLike>): void {
    this.#starts.push(this.words.length)
    this.words.append(list)
  }

  /** One more entry than there are lists. */
  starts(): Uint32Array {
    const starts = new Uint32Array(this.#starts.length + 1)
    starts.set(this.#starts.view())
    starts[this.#starts.length] = this.words.length
    return starts
  }
}

/** Texts, concatenated, and the start of each. */
class Texts {
  #bytes = new Uint8Array(1024)
  #used = 0
  readonly #starts = new Words()

  push(text: Uint8Array<ArrayBufferLike>): void {
    this.#starts.push(this.#used)
    if (this.#used + text.length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#used + text.length, this.#bytes.length * 2))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes.set(text, this.#used)
    this.#used += text.length
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#used)
  }

  /** One more entry than there are texts. */
  starts(): Uint32Array {
    const starts = new Uint32Array(this.#starts.length + 1)
    starts.set(this.#starts.view())
    starts[this.#starts.length] = this.#used
    return starts
  }
}
