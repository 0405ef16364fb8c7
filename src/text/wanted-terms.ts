import { isPlainLetter } from './char-class.ts'
import { baseLanguage } from './stem-word.ts'

/**
 * In every other language the terms of a word begin with its first two letters, case and accents apart. Irish and
 * Indonesian take prefixes off, Serbian is written in two alphabets, Finnish drops doubled letters, and Turkish hardens
 * the last letter of a stem, however short that is.
 */
const BEGINS_OTHERWISE: ReadonlySet<string> = new Set(['fi', 'ga', 'id', 'sr', 'tr'])

/** The one exception in English: `dying` is `die`. */
const STEM_OF_YING = /^[a-z]ie$/u

const LETTER_BITS = 5
const LETTER_MASK = 31

/** Terms that are looked for in many texts: most words of a text are known not to give one by how they begin. */
export class WantedTerms {
  readonly #terms: ReadonlySet<string>
  /** By the first letter, and by the first two: whether a wanted term begins so. */
  readonly #firsts = new Uint8Array(1 << LETTER_BITS)
  readonly #pairs = new Uint8Array(1 << (2 * LETTER_BITS))

  constructor(terms: Iterable<string>) {
    this.#terms = new Set(terms)
    for (const term of this.#terms) {
      const first = term.charCodeAt(0)
      const second = term.charCodeAt(1)
      if (!isPlainLetter(first)) continue
      const row = (first & LETTER_MASK) << LETTER_BITS
      this.#firsts[first & LETTER_MASK] = 1
      if (!isPlainLetter(second)) this.#pairs.fill(1, row, row + LETTER_MASK + 1)
      else this.#pairs[row | (second & LETTER_MASK)] = 1
      if (STEM_OF_YING.test(term)) this.#pairs[row | ('y'.charCodeAt(0) & LETTER_MASK)] = 1
    }
  }

  has(term: string): boolean {
    return this.#terms.has(term)
  }

  /** Whether words of this language can be told by how they begin. */
  static canPassOver(language: string | null): boolean {
    return language === null || !BEGINS_OTHERWISE.has(baseLanguage(language) ?? '')
  }

  /** Whether the word at this place gives no wanted term, as far as its first letters tell. */
  passesOver(text: string, start: number): boolean {
    const first = text.charCodeAt(start)
    if (!isPlainLetter(first)) return false
    if (this.#firsts[first & LETTER_MASK] === 0) return true
    const second = text.charCodeAt(start + 1)
    if (!isPlainLetter(second)) return false
    return this.#pairs[((first & LETTER_MASK) << LETTER_BITS) | (second & LETTER_MASK)] === 0
  }
}
