import { readFileSync } from 'node:fs'
import { EditDistance } from '../../../text/edit-distance.ts'
import { countBits } from '../format/count-bits.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import {
  allGroupLetters,
  blockTerms,
  groupLetters,
  groupsOfBlock,
  headBytes,
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
  readonly edits: number
  readonly asBeginning: boolean
}

interface TermKernel {
  /**
   * Calls back for each term, with its head, that may be so many typing errors away, or have a beginning that is; in
   * whatever order, and whether a text has it as a word or not.
   */
  eachSimilar(typed: TypedShape, take: (term: number, head: number) => void): void
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
    const distance = new EditDistance(Int32Array.from(word, codePointOf), editsMax)
    const { text, starts, shapes } = this.#dictionary
    const found: SimilarTerm[] = []
    this.#kernel.eachSimilar({ ...shape, edits: editsMax, asBeginning }, (term, head) => {
      if (distance.leastFrom(scratch, readHead(head)) > editsMax || (shapes.roles[term]! & writtenRole) === 0) return
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
  similar_in_block(block: number, ranges: number, rangesEnd: number, found: number, ...typed: number[]): number
  /** -1 when there is none below `end`. */
  next_similar(from: number, end: number, ...typed: number[]): number
}

/** Places in the kernel's own memory. */
const rangesAt = 0
const foundAt = 4 * groupsOfBlock
const pageBytes = 65_536

/** `term-kernel.wasm`: blocks by their groups, and what is in no block yet four terms at a time. */
function simdKernel(dictionary: TermDictionary): TermKernel {
  const scratchMemory = new WebAssembly.Memory({ initial: (foundAt + 8 * blockTerms) / pageBytes + 1 })
  const ranges = new Uint16Array(scratchMemory.buffer, rangesAt, 2 * groupsOfBlock)
  const found = new Int32Array(scratchMemory.buffer, foundAt, 2 * blockTerms)
  const module = new WebAssembly.Module(readFileSync(new URL('term-kernel.wasm', import.meta.url)))
  const imports = { shapes: { memory: dictionary.shapes.memory }, scratch: { memory: scratchMemory } }
  const kernel = new WebAssembly.Instance(module, imports).exports as unknown as KernelExports
  return {
    eachSimilar(typed, take) {
      const { letters, repeated, length, edits, asBeginning } = typed
      const numbers = [letters, repeated, length, edits, Number(asBeginning)]
      const { blocks, sharedSize } = dictionary
      const { heads } = dictionary.shapes
      const rangesEnd = rangesAt + 2 * writeRanges(typed, ranges)
      for (let block = 0; block < blocks; block++) {
        const count = kernel.similar_in_block(block, rangesAt, rangesEnd, foundAt, ...numbers)
        for (let i = 0; i < 2 * count; i += 2) take(found[i]!, found[i + 1]!)
      }
      const next = (from: number) => kernel.next_similar(from, sharedSize, ...numbers)
      for (let term = next(Math.max(1, blocks * blockTerms)); term > 0; term = next(term + 1)) take(term, heads[term]!)
    },
  }
}

/** The groups in which similar terms can be, as ranges: the first one, and the one after the last. Returns how many numbers. */
function writeRanges({ letters, edits, asBeginning }: TypedShape, ranges: Uint16Array): number {
  const asked = letters & allGroupLetters
  let written = 0
  for (let group = 0; group < groupsOfBlock; group++) {
    const had = groupLetters[group]!
    const isNear = countBits(asked & ~had) <= edits && (asBeginning || countBits(had & ~asked) <= edits)
    if (!isNear) continue
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
      const end = dictionary.sharedSize
      for (let term = 1; term < end; term++) if (mayBeSimilar(shapes, term, typed)) take(term, shapes.heads[term]!)
    },
  }
}

function mayBeSimilar(
  shapes: TermShapes,
  term: number,
  { letters: asked, repeated: askedTwice, length, edits, asBeginning }: TypedShape,
): boolean {
  const had = shapes.letters[term]!
  const hadTwice = shapes.repeated[term]!
  const longer = shapes.lengths[term]! - length
  const lacked = countBits(asked & ~had) + countBits(askedTwice & ~hadTwice)
  if (asBeginning) return lacked <= edits && longer + edits >= 0
  const more = countBits(had & ~asked) + countBits(hadTwice & ~askedTwice)
  // Every letter that makes a word longer is an error of its own, that none which it lacks can be; and the other way round.
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
