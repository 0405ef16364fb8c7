import { findTerm, type SegmentData, type TokenBytes } from './segment-data.ts'
import { longStep, stepShift, termMask } from './token-stream.ts'

/**
 * The words of titles and bodies as a segment stores them. Each takes three bytes: 3 bits of step, and 21 bits for the
 * position of the term in the segment's own list, which stays short for a dictionary of any size. A segment with a
 * larger position or a long step stores the 32-bit words of `token-stream.ts` unchanged, as every segment did before
 * format 5.
 */
const narrowBytes = 3
const wideBytes = 4
const narrowShift = 21
const narrowMask = 2 ** narrowShift - 1

type Bytes = Uint8Array<ArrayBufferLike>
type Words = Uint32Array<ArrayBufferLike>

export interface StoredTokens {
  readonly tokenBytes: TokenBytes
  readonly bodyTokens: Bytes
  readonly titleTokens: Bytes
}

/** `listPositions` has the position in the segment's list of each term of the two fields; `terms` is their number. */
export function storeTokens(body: Words, title: Words, listPositions: Words, terms: number): StoredTokens {
  if (terms <= narrowMask + 1) {
    const bodyTokens = pack(body, listPositions)
    const titleTokens = pack(title, listPositions)
    if (bodyTokens !== null && titleTokens !== null) return { tokenBytes: narrowBytes, bodyTokens, titleTokens }
  }
  return { tokenBytes: wideBytes, bodyTokens: bytesOf(body), titleTokens: bytesOf(title) }
}

const bytesOf = (words: Words): Bytes => new Uint8Array(words.buffer, words.byteOffset, words.byteLength)

/** Returns null if a long step does not fit. */
function pack(tokens: Words, listPositions: Words): Bytes | null {
  const packed = new Uint8Array(tokens.length * narrowBytes)
  const put = (i: number, word: number) => {
    packed[i * narrowBytes] = word
    packed[i * narrowBytes + 1] = word >>> 8
    packed[i * narrowBytes + 2] = word >>> 16
  }
  for (let i = 0; i < tokens.length; i++) {
    const step = tokens[i]! >>> stepShift
    put(i, (step << narrowShift) | listPositions[tokens[i]! & termMask]!)
    if (step !== longStep) continue
    const length = tokens[++i]!
    if (length > narrowMask) return null
    put(i, length)
  }
  return packed
}

function wordAt(packed: Bytes, i: number): number {
  const at = i * narrowBytes
  return packed[at]! | (packed[at + 1]! << 8) | (packed[at + 2]! << 16)
}

/** The words of a body, in the form of `token-stream.ts`. */
export function bodyTokensAt(data: SegmentData, chunk: number): Words {
  return tokensBetween(data, data.bodyTokens, data.bodyStart[chunk]!, data.bodyStart[chunk + 1]!)
}

/** The words of a version's title, in the same form. */
export function titleTokensAt(data: SegmentData, version: number): Words {
  return tokensBetween(data, data.titleTokens, data.titleStart[version]!, data.titleStart[version + 1]!)
}

function tokensBetween({ tokenBytes, term }: SegmentData, stored: Bytes, from: number, to: number): Words {
  if (tokenBytes === wideBytes) return new Uint32Array(stored.buffer, stored.byteOffset + from * wideBytes, to - from)
  const tokens = new Uint32Array(to - from)
  for (let i = from; i < to; i++) {
    const word = wordAt(stored, i)
    const step = word >>> narrowShift
    tokens[i - from] = (step << stepShift) | term[word & narrowMask]!
    if (step === longStep && ++i < to) tokens[i - from] = wordAt(stored, i)
  }
  return tokens
}

/**
 * Returns the term in the form of the segment's words, as a kernel compares it: with the step in the upper three of 32
 * bits. Returns -1 if the term does not occur.
 */
export function tokenNumber(data: SegmentData, term: number): number {
  if (data.tokenBytes === wideBytes) return term
  const position = findTerm(data, term)
  return position < 0 ? -1 : position << (stepShift - narrowShift)
}

/**
 * Visits every term of the titles and bodies with its step. Copies nothing, because a million chunks have some fifty
 * million terms.
 */
export function eachToken(data: SegmentData, visit: (term: number, step: number) => void): void {
  for (const stored of [data.titleTokens, data.bodyTokens]) {
    if (data.tokenBytes === wideBytes) {
      const tokens = new Uint32Array(stored.buffer, stored.byteOffset, stored.length / wideBytes)
      for (let i = 0; i < tokens.length; i++) {
        const step = tokens[i]! >>> stepShift
        visit(tokens[i]! & termMask, step)
        if (step === longStep) i++
      }
    } else {
      const count = stored.length / narrowBytes
      for (let i = 0; i < count; i++) {
        const word = wordAt(stored, i)
        const step = word >>> narrowShift
        visit(data.term[word & narrowMask]!, step)
        if (step === longStep) i++
      }
    }
  }
}
