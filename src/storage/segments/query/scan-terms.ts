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

/** Finds terms by their shape, in all texts: the caller must check which of them a request may see. */

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
 * Calls `take` for each term that may be within the number of typing errors, or have a prefix that is. In any order,
 * and regardless of whether a text has it as a word.
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
   * Finds terms within the number of typing errors, or with a prefix that is. Leaves out the word itself, terms that it
   * is a prefix of, and terms that no text has as a word. A letter that only one of the two has is an error, so few
   * terms are left for the comparison letter by letter: first of the first letters, which are stored separately, and
   * then of all.
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

/** How many of the letters of either word may be missing in the other. */
interface Lacking {
  readonly lacked: number
  readonly more: number
}
/** No limit: more letters than any word has. */
const anyMore = 64

/** Opens `term-kernel.wasm`: it scans blocks by their groups, and terms that are in no block yet from end to end. */
function openKernel(dictionary: TermDictionary): EachSimilar {
  const { memory, rows, write } = openMemory(termLayout)
  const imports = { shapes: { memory: dictionary.shapes.memory }, scratch: { memory } }
  const kernel = new WebAssembly.Instance(compileKernel('term-kernel.wasm'), imports)
    .exports as unknown as KernelExports
  return (typed, take) => {
    const { letters, repeated, length, edits, asPrefix } = typed
    const { blocks, sharedSize } = dictionary
    const askFor = ({ lacked, more }: Lacking) => {
      write.typed({ typed: letters, typedTwice: repeated, length, edits, lackedMax: lacked, moreMax: more })
    }
    const takeFound = (count: number) => {
      for (let i = 0; i < count; i++) take(rows.found[i]!)
    }
    const { letterPlaces } = rows
    letterPlaces.fill(0)
    for (const [place, letter] of typed.codePoints.entries()) {
      if (letter < letterPlaces.length) letterPlaces[letter]! |= 1 << place
    }
    for (let grouped = 0; blocks > 0 && grouped <= longestGrouped; grouped++) {
      const lacking = lackingAt(typed, grouped)
      if (lacking.lacked < 0 || lacking.more < 0) continue
      askFor(lacking)
      const ranges = writeRanges(letters, lacking, rows.ranges)
      for (let block = 0; block < blocks; block++) takeFound(kernel.similar_in_block(block, grouped, ranges))
    }
    askFor({ lacked: edits, more: asPrefix ? anyMore : edits })
    for (let from = blocks * blockTerms; from < sharedSize; from += blockTerms) {
      // 0 is not a term.
      takeFound(kernel.similar_in_order(Math.max(1, from), Math.min(sharedSize, from + blockTerms)))
    }
  }
}

/**
 * For words of this group length; negative if none can be similar. Every letter that makes a word longer is an error,
 * and cannot be one of the missing letters; the same holds in the other direction.
 */
function lackingAt(
  { length, edits, asPrefix }: Pick<TypedShape, 'length' | 'edits' | 'asPrefix'>,
  grouped: number,
): Lacking {
  const shortest = grouped - length
  const longest = grouped === longestGrouped ? Number.POSITIVE_INFINITY : shortest
  if (asPrefix) return { lacked: edits, more: longest + edits < 0 ? -1 : anyMore }
  return { lacked: edits - Math.max(0, shortest), more: edits + Math.min(0, longest) }
}

/**
 * The groups of letters that can have similar terms, as ranges: the first one, and the one after the last. Returns how
 * many.
 */
function writeRanges(letters: number, { lacked, more }: Lacking, ranges: Uint16Array): number {
  const typed = letters & allGroupLetters
  let written = 0
  for (let group = 0; group < groupLetters.length; group++) {
    const had = groupLetters[group]!
    if (countBits(typed & ~had) > lacked || countBits(had & ~typed) > more) continue
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

/** Reads at most `most` code points into `scratch`. */
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
