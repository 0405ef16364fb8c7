import { readFileSync } from 'node:fs'
import { EditDistance } from '../../../text/edit-distance.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { shapeOf, type TermShapes, wordStart } from '../memory/term-shapes.ts'

/** Terms by what they look like, whoever may see them: what a caller is told of has to be looked for in what it may see. */

export interface SimilarTerm {
  readonly term: number
  readonly edits: number
  /** The word, without a mark. */
  readonly word: string
  /** It stands for a word as it is written, and for nothing else. */
  readonly isMarked: boolean
}

const encoder = new TextEncoder()

interface TermKernel {
  /**
   * The next term from `from` on, below `end`, that may be one; -1 when there is none. It lacks at most `lackedMax` of the letters, those that are repeated counted twice, and has at
   * most `moreMax` others.
   */
  next_similar(from: number, end: number, letters: number, repeated: number, lackedMax: number, moreMax: number): number
}

/** No limit: there are 32 kinds of letters. */
const any = 64

export class TermScan {
  readonly #dictionary: TermDictionary
  readonly #kernel: TermKernel

  constructor(dictionary: TermDictionary, kind: 'simd' | 'plain') {
    this.#dictionary = dictionary
    this.#kernel = kind === 'plain' ? plainKernel(dictionary.shapes) : simdKernel(dictionary.shapes)
  }

  /**
   * Terms that are up to so many typing errors away, or that have a beginning which is; not the word itself, nor what
   * begins with it, nor what no text has as a word. Letters that one has and the other has not are errors, so few are left to be compared letter by letter.
   */
  similar(word: string, editsMax: number, asBeginning: boolean): SimilarTerm[] {
    const bytes = encoder.encode(word)
    const { letters, repeated, length } = shapeOf(bytes, 0, bytes.length)
    const distance = new EditDistance(Int32Array.from(word, codePointOf), editsMax)
    const { text, starts, shapes, sharedSize } = this.#dictionary
    const shortest = length - editsMax
    const longest = asBeginning ? Number.POSITIVE_INFINITY : length + editsMax
    const moreMax = asBeginning ? any : editsMax
    const next = (from: number) => this.#kernel.next_similar(from, sharedSize, letters, repeated, editsMax, moreMax)
    const found: SimilarTerm[] = []
    for (let term = next(1); term > 0; term = next(term + 1)) {
      if (shapes.lengths[term]! < shortest || shapes.lengths[term]! > longest) continue
      const end = starts[term + 1]!
      const start = wordStart(text, starts[term]!, end)
      const isMarked = start > starts[term]!
      if (!isMarked && shapes.written[term] === 0) continue
      const count = readLetters(text, start, end, length + editsMax + 1)
      const edits = asBeginning ? distance.toBeginning(scratch, count) : distance.to(scratch, count)
      if (edits === 0 || edits > editsMax) continue
      found.push({ term, edits, word: decoder.decode(text.slice(start, end)), isMarked })
    }
    return found
  }
}

/** `term-kernel.wasm`: four terms at a time. */
function simdKernel({ memory }: TermShapes): TermKernel {
  const module = new WebAssembly.Module(readFileSync(new URL('term-kernel.wasm', import.meta.url)))
  return new WebAssembly.Instance(module, { shapes: { memory } }).exports as unknown as TermKernel
}

function plainKernel({ letters, repeated }: TermShapes): TermKernel {
  const nextWhere = (from: number, end: number, holds: (term: number) => boolean): number => {
    for (let term = from; term < end; term++) if (holds(term)) return term
    return -1
  }
  return {
    next_similar: (from, end, asked, askedTwice, lackedMax, moreMax) =>
      nextWhere(from, end, (term) => {
        const had = letters[term]!
        const hadTwice = repeated[term]!
        return (
          countBits(asked & ~had) + countBits(askedTwice & ~hadTwice) <= lackedMax &&
          countBits(had & ~asked) + countBits(hadTwice & ~askedTwice) <= moreMax
        )
      }),
  }
}

function countBits(bits: number): number {
  let count = 0
  for (let left = bits; left !== 0; left &= left - 1) count++
  return count
}

const codePointOf = (letter: string): number => letter.codePointAt(0)!
const decoder = new TextDecoder()

/** A thread answers one call at a time, so this is its own. */
let scratch = new Int32Array(256)

/** Up to so many code points, into `scratch`. */
function readLetters(text: Uint8Array<ArrayBufferLike>, start: number, end: number, most: number): number {
  if (most > scratch.length) scratch = new Int32Array(most)
  let count = 0
  for (let at = start; at < end && count < most; ) {
    const first = text[at]!
    if (first < 0x80) {
      scratch[count++] = first
      at++
      continue
    }
    const size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    let codePoint = first & (0xff >>> (size + 1))
    for (let i = 1; i < size; i++) codePoint = (codePoint << 6) | (text[at + i]! & 0x3f)
    scratch[count++] = codePoint
    at += size
  }
  return count
}
