import { readFileSync } from 'node:fs'
import { EditDistance } from '../../../text/edit-distance.ts'
import { countBits } from '../format/count-bits.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import {
  allGroupLetters,
  blockTerms,
  groupLetters,
  headBytes,
  longestGrouped,
  otherRole,
  type Shape,
  shapeOf,
  type TermShapes,
  wordStart,
  writtenRole,
} from '../memory/term-shapes.ts'

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

/** What was typed, as far as shapes tell. */
interface TypedShape extends Shape {
  readonly codePoints: Int32Array
  readonly distance: EditDistance
  readonly edits: number
  readonly asBeginning: boolean
}

interface TermKernel {
  /**
   * Calls back for each term that may be so many typing errors away, or have a beginning that is; in whatever order, and
   * whether a text has it as a word or not.
   */
  eachSimilar(typed: TypedShape, take: (term: number) => void): void
}

export class TermScan {
  readonly #dictionary: TermDictionary
  readonly #kernel: TermKernel

  constructor(dictionary: TermDictionary, kind: 'simd' | 'plain') {
    this.#dictionary = dictionary
    this.#kernel = kind === 'plain' ? plainKernel(dictionary) : simdKernel(dictionary)
  }

  /**
   * Terms that are up to so many typing errors away, or that have a beginning which is; not the word itself, nor what
   * begins with it, nor what no text has as a word. Letters that one has and the other has not are errors, so few are left
   * to be compared letter by letter: the first ones, which stand by themselves, and then all.
   */
  similar(word: string, editsMax: number, asBeginning: boolean): SimilarTerm[] {
    const bytes = encoder.encode(word)
    const shape = shapeOf(bytes, 0, bytes.length)
    const codePoints = Int32Array.from(word, codePointOf)
    const distance = new EditDistance(codePoints, editsMax)
    const { text, starts, shapes } = this.#dictionary
    const found: SimilarTerm[] = []
    this.#kernel.eachSimilar({ ...shape, codePoints, distance, edits: editsMax, asBeginning }, (term) => {
      if ((shapes.roles[term]! & writtenRole) === 0) return
      const end = starts[term + 1]!
      const start = wordStart(text, starts[term]!, end)
      const count = readLetters(text, start, end, shape.length + editsMax + 1)
      const edits = asBeginning ? distance.toBeginning(scratch, count) : distance.to(scratch, count)
      if (edits === 0 || edits > editsMax) return
      const isWordOnly = (shapes.roles[term]! & otherRole) === 0
      found.push({ term, edits, word: decoder.decode(text.slice(start, end)), isWordOnly })
    })
    return found.sort((a, b) => a.term - b.term)
  }
}

interface KernelExports {
  similar_in_block(block: number, grouped: number, ranges: number, rangesEnd: number, ...more: number[]): number
  similar_between(from: number, end: number, columns: number, found: number, ...more: number[]): number
}

/** Places in the kernel's own memory; the first is known to `term-kernel.wat`. */
const letterPlacesAt = 0
const rangesAt = 512
const foundAt = rangesAt + 4 * groupLetters.length
const pageBytes = 65_536

/** How many of the letters of either word may not be in the other. */
interface Lacking {
  readonly lacked: number
  readonly more: number
}
/** To the kernel: more than any word can have. */
const anyMore = 64

/** `term-kernel.wasm`: blocks by their groups, and what is in no block yet from end to end. */
function simdKernel(dictionary: TermDictionary): TermKernel {
  // One more place than there are terms: what is looked at is written before it is counted.
  const scratchMemory = new WebAssembly.Memory({ initial: Math.ceil((foundAt + 4 * (blockTerms + 1)) / pageBytes) })
  const letterPlaces = new Int32Array(scratchMemory.buffer, letterPlacesAt, (rangesAt - letterPlacesAt) / 4)
  const ranges = new Uint16Array(scratchMemory.buffer, rangesAt, 2 * groupLetters.length)
  const found = new Int32Array(scratchMemory.buffer, foundAt, blockTerms)
  const module = new WebAssembly.Module(readFileSync(new URL('term-kernel.wasm', import.meta.url)))
  const imports = { shapes: { memory: dictionary.shapes.memory }, scratch: { memory: scratchMemory } }
  const kernel = new WebAssembly.Instance(module, imports).exports as unknown as KernelExports
  return {
    eachSimilar(typed, take) {
      const { letters, repeated, length, edits, asBeginning } = typed
      const { blocks, sharedSize } = dictionary
      const numbers = [foundAt, letters, repeated, length, edits] as const
      const takeFound = (count: number) => {
        for (let i = 0; i < count; i++) take(found[i]!)
      }
      letterPlaces.fill(0)
      for (const [place, letter] of typed.codePoints.entries()) {
        if (letter < letterPlaces.length) letterPlaces[letter]! |= 1 << place
      }
      for (let grouped = 0; blocks > 0 && grouped <= longestGrouped; grouped++) {
        const { lacked, more } = lackingAt(typed, grouped)
        if (lacked < 0 || more < 0) continue
        const rangesEnd = rangesAt + 2 * writeRanges(letters, { lacked, more }, ranges)
        for (let block = 0; block < blocks; block++) {
          takeFound(kernel.similar_in_block(block, grouped, rangesAt, rangesEnd, ...numbers, lacked, more))
        }
      }
      const more = asBeginning ? anyMore : edits
      for (let from = blocks * blockTerms; from < sharedSize; from += blockTerms) {
        // 0 is no term.
        const first = Math.max(1, from)
        takeFound(kernel.similar_between(first, Math.min(sharedSize, from + blockTerms), 0, ...numbers, edits, more))
      }
    },
  }
}

/**
 * Of words that are grouped as this long; below 0 where none can be similar. Every letter that makes a word longer is an
 * error of its own, that none which it lacks can be; and the other way round.
 */
function lackingAt(
  { length, edits, asBeginning }: Pick<TypedShape, 'length' | 'edits' | 'asBeginning'>,
  grouped: number,
): Lacking {
  const shortest = grouped - length
  const longest = grouped === longestGrouped ? Number.POSITIVE_INFINITY : shortest
  if (asBeginning) return { lacked: edits, more: longest + edits < 0 ? -1 : anyMore }
  return { lacked: edits - Math.max(0, shortest), more: edits + Math.min(0, longest) }
}

/** The groups of letters in which similar terms can be, as ranges: the first one, and the one after the last. Returns how many numbers. */
function writeRanges(letters: number, { lacked, more }: Lacking, ranges: Uint16Array): number {
  const asked = letters & allGroupLetters
  let written = 0
  for (let group = 0; group < groupLetters.length; group++) {
    const had = groupLetters[group]!
    if (countBits(asked & ~had) > lacked || countBits(had & ~asked) > more) continue
    if (written > 0 && ranges[written - 1] === group) ranges[written - 1] = group + 1
    else {
      ranges[written++] = group
      ranges[written++] = group + 1
    }
  }
  return written
}

function plainKernel(dictionary: TermDictionary): TermKernel {
  const { shapes } = dictionary
  return {
    eachSimilar(typed, take) {
      const { distance, edits } = typed
      const end = dictionary.sharedSize
      for (let term = 1; term < end; term++) {
        if (!mayBeSimilar(shapes, term, typed)) continue
        if (distance.leastFrom(scratch, readHead(shapes.heads[term]!)) <= edits) take(term)
      }
    },
  }
}

function mayBeSimilar(shapes: TermShapes, term: number, typed: TypedShape): boolean {
  const { letters: asked, repeated: askedTwice, length, edits, asBeginning } = typed
  const had = shapes.letters[term]!
  const hadTwice = shapes.repeated[term]!
  const longer = shapes.lengths[term]! - length
  const lacked = countBits(asked & ~had) + countBits(askedTwice & ~hadTwice)
  if (asBeginning) return lacked <= edits && longer + edits >= 0
  const more = countBits(had & ~asked) + countBits(hadTwice & ~askedTwice)
  return lacked <= edits - Math.max(0, longer) && more <= edits + Math.min(0, longer)
}

const codePointOf = (letter: string): number => letter.codePointAt(0)!
const decoder = new TextDecoder()

/** A thread answers one call at a time, so this is its own. */
let scratch = new Int32Array(256)

/** The letters of a head, as far as they are of one byte each, into `scratch`. */
function readHead(head: number): number {
  let count = 0
  for (let shift = 8 * (headBytes - 1); shift >= 0; shift -= 8) {
    const byte = (head >>> shift) & 0xff
    if (byte === 0 || byte >= 0x80) break
    scratch[count++] = byte
  }
  return count
}

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
