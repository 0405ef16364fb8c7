import { CASE_BIT, isBlank, isDigit, isPlainLetter } from './char-class.ts'
import { isMarkedWord, WORD_MARK } from './word-terms.ts'

/**
 * Which of a word's first letters its terms begin with, case and accents apart: in every other language two. Irish
 * and Indonesian take prefixes off, and Serbian is written in two alphabets. Finnish drops doubled letters, and Turkish
 * hardens the last letter of a stem, however short that is.
 */
type LettersKept = 'none' | 'one' | 'two' | 'two but the last'
const LETTERS_KEPT: ReadonlyMap<string | null, LettersKept> = new Map([
  ['ga', 'none'],
  ['id', 'none'],
  ['sr', 'none'],
  ['fi', 'one'],
  ['tr', 'two but the last'],
])

/** The one exception in English: `dying` is `die`. */
const STEM_OF_YING = /^[a-z]ie$/u
const BEGINNING_OF_STEM_OF_YING = /^[a-z]ie?$/u

const LETTER_BITS = 5
const LETTER_MASK = 31
const LAST_ASCII = 0x7f
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const LETTER_A = 0x61
const LETTER_Z = 0x7a

/** What a first character tells: 0 that no wanted term begins so, else that one may, whatever follows or by what does. */
const ANY = 1
const BY_SECOND = 2

/**
 * Terms that are looked for in many texts, and all that begin in some way, the mark of a word apart. Most words of a text
 * are known not to give one by how they begin.
 */
export class WantedTerms {
  readonly #terms: ReadonlySet<string>
  readonly #begun: readonly string[]
  readonly #beginnings = new Map<LettersKept, TermBeginnings>()

  constructor(terms: Iterable<string>, begun: readonly string[] = []) {
    this.#terms = new Set(terms)
    this.#begun = begun
  }

  has(term: string): boolean {
    return this.#terms.has(term) || this.#begun.some((beginning) => termBegins(term, beginning))
  }

  /** How these terms can be told by the beginning of a word in a language; null where they cannot. */
  beginningsIn(language: string | null): TermBeginnings | null {
    const kept = LETTERS_KEPT.get(language) ?? 'two'
    if (kept === 'none') return null
    let beginnings = this.#beginnings.get(kept)
    if (beginnings === undefined) {
      beginnings = new TermBeginnings(this.#terms, this.#begun, kept)
      this.#beginnings.set(kept, beginnings)
    }
    return beginnings
  }
}

/** Whether a term, or the word that it is marked as, begins so. */
export function termBegins(term: string, beginning: string): boolean {
  return term.startsWith(beginning, isMarkedWord(term) ? WORD_MARK.length : 0)
}

/** How wanted terms begin. */
export class TermBeginnings {
  /**
   * By the first character of a word, where that is ASCII. No word that begins with a letter gives a term that begins with
   * a digit, nor the other way round.
   */
  readonly #firsts = new Uint8Array(LAST_ASCII + 1)
  /** By the first two letters of a word, 0 for its end: whether a wanted term may begin so. */
  readonly #pairs = new Uint8Array(1 << (2 * LETTER_BITS))

  constructor(terms: ReadonlySet<string>, begun: readonly string[], kept: LettersKept) {
    const unmarked = [...terms].map((term) => (isMarkedWord(term) ? term.slice(WORD_MARK.length) : term))
    for (const beginning of begun) {
      if (BEGINNING_OF_STEM_OF_YING.test(beginning)) unmarked.push(`${beginning[0]}ie`)
    }
    for (const term of [...unmarked, ...begun]) {
      const first = term.charCodeAt(0)
      const second = term.charCodeAt(1)
      if (isDigit(first)) this.#firsts.fill(ANY, DIGIT_0, DIGIT_9 + 1)
      if (!isPlainLetter(first)) continue
      // Of a stem of one letter the last is the first: Turkish `dler` is `t`.
      if (kept !== 'two' && term.length === 1) {
        for (let letter = LETTER_A; letter <= LETTER_Z; letter += 1) this.#addFirst(letter)
        this.#pairs.fill(1)
      }
      const row = (first & LETTER_MASK) << LETTER_BITS
      this.#addFirst(first)
      const isSecondKept = kept === 'two' || (kept === 'two but the last' && term.length > 2)
      if (!isSecondKept || !isPlainLetter(second)) this.#pairs.fill(1, row, row + LETTER_MASK + 1)
      else this.#pairs[row | (second & LETTER_MASK)] = 1
      if (STEM_OF_YING.test(term)) this.#pairs[row | ('y'.charCodeAt(0) & LETTER_MASK)] = 1
    }
  }

  /** In either case. */
  #addFirst(letter: number): void {
    this.#firsts[letter | CASE_BIT] = BY_SECOND
    this.#firsts[letter & ~CASE_BIT] = BY_SECOND
  }

  /** Whether the word at this place gives no wanted term, as far as its first letters tell. */
  passOver(text: string, start: number): boolean {
    const first = text.charCodeAt(start)
    return isPlainLetter(first) && !(this.#firsts[first] === BY_SECOND && this.#may(first, text.charCodeAt(start + 1)))
  }

  /**
   * The first place from `from` on at which a word may begin that gives a wanted term; the end of the text where there is
   * none. `from` is not within a word.
   */
  nextPlace(units: Uint16Array, from: number): number {
    const { length } = units
    const firsts = this.#firsts
    let index = from
    while (index < length) {
      const code = units[index]!
      if (code > LAST_ASCII) return index
      const first = firsts[code]
      if (first === ANY) return index
      index += 1
      if (!isPlainLetter(code)) continue
      if (first === BY_SECOND && this.#may(code, index < length ? units[index]! : 0)) return index - 1
      while (index < length && isPlainLetter(units[index]!)) index += 1
    }
    return length
  }

  #may(first: number, second: number): boolean {
    const row = (first & LETTER_MASK) << LETTER_BITS
    if (isBlank(second)) return this.#pairs[row] === 1
    // What follows may be an accent, or a full stop within an abbreviation.
    return !isPlainLetter(second) || this.#pairs[row | (second & LETTER_MASK)] === 1
  }
}
