import { readFileSync } from 'node:fs'
import { EditDistance } from '../../../text/edit-distance.ts'
import { countBits } from '../format/count-bits.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { otherRole, shapeOf, type TermShapes, wordStart, writtenRole } from '../memory/term-shapes.ts'

/** Terms by what they look like, whoever may see them: what a caller is told of has to be looked for in what it may see. */

export interface SimilarTerm {
  readonly term: number
  readonly edits: number
  /** The word, without a mark. */
  readonly word: string
  /** It stands for a word as it is written wherever it stands, and nowhere for another form of one. */
  readonly isWordOnly: boolean
}

const encoder = new TextEncoder()

interface TermKernel {
  /**
   * The next term from `from` on, below `end`, that may be `edits` typing errors away from a word of that shape, or have a
   * beginning that is; -1 when there is none.
   */
  next_similar(
    from: number,
    end: number,
    letters: number,
    repeated: number,
    length: number,
    edits: number,
    asBeginning: number,
  ): number
}

export class TermScan {
  readonly #dictionary: TermDictionary
  readonly #kernel: TermKernel

  constructor(dictionary: TermDictionary, kind: 'simd' | 'plain') {
    this.#dictionary = dictionary
    this.#kernel = kind === 'plain' ? plainKernel(dictionary.shapes) : simdKernel(dictionary.shapes)
  }

  /**
   * Terms that are up to so many typing errors away, or that have a beginning which is; not the word itself, nor what
   * begins with it, nor what no text has as a word. Letters that one has and the other has not are errors, so few are left
   * to be compared letter by letter.
   */
  similar(word: string, editsMax: number, asBeginning: boolean): SimilarTerm[] {
    const bytes = encoder.encode(word)
    const { letters, repeated, length } = shapeOf(bytes, 0, bytes.length)
    const distance = new EditDistance(Int32Array.from(word, codePointOf), editsMax)
    const { text, starts, shapes, sharedSize } = this.#dictionary
    const next = (from: number) =>
      this.#kernel.next_similar(from, sharedSize, letters, repeated, length, editsMax, Number(asBeginning))
    const found: SimilarTerm[] = []
    for (let term = next(1); term > 0; term = next(term + 1)) {
      const end = starts[term + 1]!
      const start = wordStart(text, starts[term]!, end)
      const count = readLetters(text, start, end, length + editsMax + 1)
      const edits = asBeginning ? distance.toBeginning(scratch, count) : distance.to(scratch, count)
      if (edits === 0 || edits > editsMax) continue
      const isWordOnly = (shapes.roles[term]! & otherRole) === 0
      found.push({ term, edits, word: decoder.decode(text.slice(start, end)), isWordOnly })
    }
    return found
  }
}

/** `term-kernel.wasm`: four terms at a time. */
function simdKernel({ memory }: TermShapes): TermKernel {
  const module = new WebAssembly.Module(readFileSync(new URL('term-kernel.wasm', import.meta.url)))
  return new WebAssembly.Instance(module, { shapes: { memory } }).exports as unknown as TermKernel
}

function plainKernel(shapes: TermShapes): TermKernel {
  return {
    next_similar(from, end, asked, askedTwice, length, edits, asBeginning) {
      for (let term = from; term < end; term++) {
        if ((shapes.roles[term]! & writtenRole) === 0) continue
        const had = shapes.letters[term]!
        const hadTwice = shapes.repeated[term]!
        const longer = shapes.lengths[term]! - length
        const lacked = countBits(asked & ~had) + countBits(askedTwice & ~hadTwice)
        const more = countBits(had & ~asked) + countBits(hadTwice & ~askedTwice)
        // Every letter that makes a word longer is an error of its own, that none which it lacks can be; and the other way round.
        const isNear =
          asBeginning !== 0
            ? lacked <= edits && longer + edits >= 0
            : lacked <= edits - Math.max(0, longer) && more <= edits + Math.min(0, longer)
        if (isNear) return term
      }
      return -1
    },
  }
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
