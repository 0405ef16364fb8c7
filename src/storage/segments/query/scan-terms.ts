import { EditDistance } from '../../../text/edit-distance.ts'
import { countBits } from '../format/count-bits.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import {
  allGroupLetters,
  blockTerms,
  groupLetters,
  longestGrouped,
  otherRole,
  type Shape,
  shapeOf,
  wordStart,
  writtenRole,
} from '../memory/term-shapes.ts'
import { termLayout } from './kernel-layouts.ts'
import { compileKernel, openMemory } from './kernel-memory.ts'

export interface SimilarTerm {
  readonly term: number
  readonly edits: number
  /** The word, without a mark. */
  readonly word: string
  /** The term is always a word as written, and never another form of one. */
  readonly isWordOnly: boolean
}

const encoder = new TextEncoder()

/** The shape of the typed word. */
interface TypedShape extends Shape {
  readonly codePoints: Int32Array
  readonly edits: number
  readonly asPrefix: boolean
}

/**
 * Calls `take` for each term that may be within the number of typing errors, or have a prefix that is. The order is
 * undefined, and terms that no text has as a word are included.
 */
type EachSimilar = (typed: TypedShape, take: (term: number) => void) => void

export class TermScan {
  readonly #dictionary: TermDictionary
  readonly #eachSimilar: EachSimilar

  constructor(dictionary: TermDictionary) {
    this.#dictionary = dictionary
    this.#eachSimilar = openKernel(dictionary)
  }

  /**
   * Returns the terms within the number of typing errors, or with a prefix that is. Leaves out the word itself, terms
   * that it is a prefix of, and terms that no text has as a word. Covers the terms of all texts: the caller must check
   * which of them a request may see. A letter that only one of the two words has is an error, so few terms are left for
   * the comparison letter by letter: of the first letters, which are stored separately, and then of all.
   */
  similar(word: string, editsMax: number, asPrefix: boolean): SimilarTerm[] {
    const bytes = encoder.encode(word)
    const shape = shapeOf(bytes, 0, bytes.length)
    const codePoints = Int32Array.from(word, codePointOf)
    const distance = new EditDistance(codePoints, editsMax)
    const { text, starts, shapes } = this.#dictionary
    const found: SimilarTerm[] = []
    this.#eachSimilar({ ...shape, codePoints, edits: editsMax, asPrefix }, (term) => {
      if ((shapes.roles[term]! & writtenRole) === 0) return
      const end = starts[term + 1]!
      const start = wordStart(text, starts[term]!, end)
      const count = readLetters(text, start, end, shape.length + editsMax + 1)
      const edits = asPrefix ? distance.toPrefix(scratch, count) : distance.to(scratch, count)
      if (edits === 0 || edits > editsMax) return
      const isWordOnly = (shapes.roles[term]! & otherRole) === 0
      found.push({ term, edits, word: decoder.decode(text.slice(start, end)), isWordOnly })
    })
    return found.sort((a, b) => a.term - b.term)
  }
}

interface KernelExports {
  similar_in_block(block: number, grouped: number, ranges: number): number
  similar_in_order(from: number, end: number): number
}

/** The number of typed letters that a term may miss, and of other letters that it may have. */
interface LetterLimits {
  readonly missing: number
  readonly extra: number
}
/** No limit: more letters than any word has. */
const unlimited = 64

/** Opens `term-kernel.wasm`: it scans blocks by their groups, and terms that are in no block yet from end to end. */
function openKernel(dictionary: TermDictionary): EachSimilar {
  const { memory, arrays, write } = openMemory(termLayout)
  const imports = { shapes: { memory: dictionary.shapes.memory }, scratch: { memory } }
  const kernel = new WebAssembly.Instance(compileKernel('term-kernel.wasm'), imports)
    .exports as unknown as KernelExports
  return (typed, take) => {
    const { letters, repeated, length, edits, asPrefix } = typed
    const { blocks, sharedSize } = dictionary
    const writeTyped = ({ missing, extra }: LetterLimits) => {
      write.typed({ typed: letters, typedRepeated: repeated, length, edits, missingMax: missing, extraMax: extra })
    }
    const takeFound = (count: number) => {
      for (let i = 0; i < count; i++) take(arrays.found[i]!)
    }
    const { letterPositions } = arrays
    letterPositions.fill(0)
    for (const [position, letter] of typed.codePoints.entries()) {
      if (letter < letterPositions.length) letterPositions[letter]! |= 1 << position
    }
    for (let grouped = 0; blocks > 0 && grouped <= longestGrouped; grouped++) {
      const limits = limitsFor(typed, grouped)
      if (limits.missing < 0 || limits.extra < 0) continue
      writeTyped(limits)
      const ranges = writeRanges(letters, limits, arrays.ranges)
      for (let block = 0; block < blocks; block++) takeFound(kernel.similar_in_block(block, grouped, ranges))
    }
    writeTyped({ missing: edits, extra: asPrefix ? unlimited : edits })
    for (let from = blocks * blockTerms; from < sharedSize; from += blockTerms) {
      // 0 is not a term.
      takeFound(kernel.similar_in_order(Math.max(1, from), Math.min(sharedSize, from + blockTerms)))
    }
  }
}

/**
 * The limits for terms of this group length; negative if none can be similar. Every letter by which a word is longer is
 * an error already, which leaves fewer errors for missing letters; the same holds in the other direction.
 */
function limitsFor(
  { length, edits, asPrefix }: Pick<TypedShape, 'length' | 'edits' | 'asPrefix'>,
  grouped: number,
): LetterLimits {
  const shortest = grouped - length
  const longest = grouped === longestGrouped ? Number.POSITIVE_INFINITY : shortest
  if (asPrefix) return { missing: edits, extra: longest + edits < 0 ? -1 : unlimited }
  return { missing: edits - Math.max(0, shortest), extra: edits + Math.min(0, longest) }
}

/**
 * Writes the groups of letters that can have similar terms, as ranges: the first group, and the one after the last.
 * Returns the number of ranges.
 */
function writeRanges(letters: number, { missing, extra }: LetterLimits, ranges: Uint16Array): number {
  const typed = letters & allGroupLetters
  let written = 0
  for (let group = 0; group < groupLetters.length; group++) {
    const present = groupLetters[group]!
    if (countBits(typed & ~present) > missing || countBits(present & ~typed) > extra) continue
    if (written > 0 && ranges[written - 1] === group) ranges[written - 1] = group + 1
    else {
      ranges[written++] = group
      ranges[written++] = group + 1
    }
  }
  return written / 2
}

const codePointOf = (letter: string): number => letter.codePointAt(0)!
const decoder = new TextDecoder()

/** A thread answers one call at a time, so one array is enough. */
let scratch = new Int32Array(256)

/** Reads at most `lettersMax` code points into `scratch`. */
function readLetters(text: Uint8Array<ArrayBufferLike>, start: number, end: number, lettersMax: number): number {
  if (lettersMax > scratch.length) scratch = new Int32Array(lettersMax)
  let count = 0
  for (let at = start; at < end && count < lettersMax; ) {
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
