import { EditDistance } from '../../../text/edit-distance.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { headBytes, headOf, shapeOf, wordStart } from '../memory/term-shapes.ts'

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

/** Numbers, ascending, of the terms that begin so, a mark apart. */
export function termsBeginning(dictionary: TermDictionary, beginning: string): number[] {
  const bytes = encoder.encode(beginning)
  const { head, bits } = headOf(bytes, 0, bytes.length)
  const { text, starts, shapes } = dictionary
  const { heads } = shapes
  const size = dictionary.sharedSize
  const found: number[] = []
  for (let term = 1; term < size; term++) {
    if ((heads[term]! & bits) !== head) continue
    const end = starts[term + 1]!
    if (begins(text, wordStart(text, starts[term]!, end), end, bytes)) found.push(term)
  }
  return found
}

function begins(text: Uint8Array<ArrayBufferLike>, start: number, end: number, bytes: Uint8Array): boolean {
  if (end - start < bytes.length) return false
  for (let i = 0; i < bytes.length; i++) if (text[start + i] !== bytes[i]) return false
  return true
}

/**
 * Terms that are up to so many typing errors away, or that have a beginning which is; not the word itself, nor what begins
 * with it. Letters that one has and the other has not are errors, so few are left to be compared letter by letter.
 */
export function similarTerms(
  dictionary: TermDictionary,
  word: string,
  editsMax: number,
  asBeginning: boolean,
): SimilarTerm[] {
  const bytes = encoder.encode(word)
  const wanted = shapeOf(bytes, 0, bytes.length)
  const distance = new EditDistance(Int32Array.from(word, codePointOf), editsMax)
  const { text, starts, shapes } = dictionary
  const { letters, lengths, heads } = shapes
  const size = dictionary.sharedSize
  const shortest = wanted.length - editsMax
  const longest = asBeginning ? Number.POSITIVE_INFINITY : wanted.length + editsMax
  const asked = wanted.letters
  // The first letters of a term are among the first ones asked for, but for the errors. Of a beginning that is similar at
  // least `shortest` letters are there; zeros instead of others, and after a short word, are no strangers.
  const headBits = asBeginning ? firstBytes(shortest) : -1
  const firstAsked = encoder.encode([...word].slice(0, headBytes + editsMax).join(''))
  const strangers = ~(shapeOf(firstAsked, 0, firstAsked.length).letters | 1)
  const found: SimilarTerm[] = []
  for (let term = 1; term < size; term++) {
    const had = letters[term]!
    // The letters that it lacks, all but `editsMax` of them: nearly all terms end here.
    let lacked = asked & ~had
    lacked &= lacked - 1
    if (editsMax > 1) lacked &= lacked - 1
    if (lacked !== 0) continue
    if (!beginsWithin(heads[term]! & headBits, strangers, editsMax)) continue
    const length = lengths[term]!
    if (length < shortest || length > longest) continue
    let more = asBeginning ? 0 : had & ~asked
    more &= more - 1
    if (editsMax > 1) more &= more - 1
    if (more !== 0) continue
    const end = starts[term + 1]!
    const start = wordStart(text, starts[term]!, end)
    const count = readLetters(text, start, end, wanted.length + editsMax + 1)
    const edits = asBeginning ? distance.toBeginning(scratch, count) : distance.to(scratch, count)
    if (edits === 0 || edits > editsMax) continue
    found.push({ term, edits, word: decoder.decode(text.slice(start, end)), isMarked: start > starts[term]! })
  }
  return found
}

const firstBytes = (count: number): number => (count >= headBytes ? -1 : count <= 0 ? 0 : ~(-1 >>> (8 * count)))

/** Whether no more than `editsMax` of the first letters are strangers. Only ASCII is looked at. */
function beginsWithin(head: number, strangers: number, editsMax: number): boolean {
  if ((head & 0x8080_8080) !== 0) return true
  const count =
    ((strangers >>> (head >>> 24)) & 1) +
    ((strangers >>> (head >>> 16)) & 1) +
    ((strangers >>> (head >>> 8)) & 1) +
    ((strangers >>> head) & 1)
  return count <= editsMax
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
