import { CASE_BIT, isBlank, isDigit, isPlainLetter } from './char-class.ts'
import { isMarkedWord, WORD_MARK } from './word-terms.ts'

/**
 * Which first letters of a word its terms keep, ignoring case and accents. In most languages it is two. The stemmers of
 * Irish and Indonesian remove prefixes, and Serbian is written in two alphabets. Finnish removes doubled letters, and
 * Turkish hardens the last letter of a stem of any length.
 */
type LettersKept = 'none' | 'one' | 'two' | 'two but the last'
const LETTERS_KEPT: ReadonlyMap<string | null, LettersKept> = new Map([
  ['ga', 'none'],
  ['id', 'none'],
  ['sr', 'none'],
  ['fi', 'one'],
  ['tr', 'two but the last'],
])

/** The one exception in English: the stem of `dying` is `die`. */
const STEM_OF_YING = /^[a-z]ie$/u
const PREFIX_OF_STEM_OF_YING = /^[a-z]ie?$/u

const LETTER_BITS = 5
const LETTER_MASK = 31
const LAST_ASCII = 0x7f
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const LETTER_A = 0x61
const LETTER_Z = 0x7a

/**
 * The values of a first character: 0 if no requested term begins with it; `ANY` if one may, whatever follows;
 * `BY_SECOND` if the second letter decides.
 */
const ANY = 1
const BY_SECOND = 2

/**
 * Terms, and prefixes of terms, to find in many texts. The mark of a word is ignored. The first letters of most words
 * rule out that they yield one of these terms.
 */
export class RequestedTerms {
  readonly #terms: ReadonlySet<string>
  readonly #prefixes: readonly string[]
  readonly #firstLetters = new Map<LettersKept, FirstLetters>()

  constructor(terms: Iterable<string>, prefixes: readonly string[] = []) {
    this.#terms = new Set(terms)
    this.#prefixes = prefixes
  }

  has(term: string): boolean {
    return this.#terms.has(term) || this.#prefixes.some((prefix) => hasPrefix(term, prefix))
  }

  /** Returns the filter for these terms by the first letters of a word in a language; null if there is none. */
  firstLettersIn(language: string | null): FirstLetters | null {
    const kept = LETTERS_KEPT.get(language) ?? 'two'
    if (kept === 'none') return null
    let firstLetters = this.#firstLetters.get(kept)
    if (firstLetters === undefined) {
      firstLetters = new FirstLetters(this.#terms, this.#prefixes, kept)
      this.#firstLetters.set(kept, firstLetters)
    }
    return firstLetters
  }
}

/** Whether a term has this prefix, ignoring the mark of a word. */
export function hasPrefix(term: string, prefix: string): boolean {
  return term.startsWith(prefix, isMarkedWord(term) ? WORD_MARK.length : 0)
}

/** A filter by the first letters of the requested terms. It has false positives, but no false negatives. */
export class FirstLetters {
  /**
   * By the first character of a word, if it is ASCII. A word that begins with a letter never yields a term that begins
   * with a digit, or the reverse.
   */
  readonly #firsts = new Uint8Array(LAST_ASCII + 1)
  /** By the first two letters of a word, with 0 for its end: whether a requested term may begin with them. */
  readonly #pairs = new Uint8Array(1 << (2 * LETTER_BITS))

  constructor(terms: ReadonlySet<string>, prefixes: readonly string[], kept: LettersKept) {
    const unmarked = [...terms].map((term) => (isMarkedWord(term) ? term.slice(WORD_MARK.length) : term))
    for (const prefix of prefixes) {
      if (PREFIX_OF_STEM_OF_YING.test(prefix)) unmarked.push(`${prefix[0]}ie`)
    }
    for (const term of [...unmarked, ...prefixes]) {
      const first = term.charCodeAt(0)
      const second = term.charCodeAt(1)
      if (isDigit(first)) this.#firsts.fill(ANY, DIGIT_0, DIGIT_9 + 1)
      if (!isPlainLetter(first)) continue
      // In a stem of one letter, the last letter is also the first: Turkish `dler` becomes `t`.
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

  /** Adds the lower and the upper case of a letter. */
  #addFirst(letter: number): void {
    this.#firsts[letter | CASE_BIT] = BY_SECOND
    this.#firsts[letter & ~CASE_BIT] = BY_SECOND
  }

  /** Whether the first letters of the word at this position rule out a requested term. */
  rulesOut(text: string, start: number): boolean {
    const first = text.charCodeAt(start)
    return (
      isPlainLetter(first) && !(this.#firsts[first] === BY_SECOND && this.#mayYield(first, text.charCodeAt(start + 1)))
    )
  }

  /**
   * Returns the first position from `from` on at which a word with a requested term may begin, or the end of the text.
   * `from` must not be within a word.
   */
  nextCandidate(units: Uint16Array, from: number): number {
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
      if (first === BY_SECOND && this.#mayYield(code, index < length ? units[index]! : 0)) return index - 1
      while (index < length && isPlainLetter(units[index]!)) index += 1
    }
    return length
  }

  #mayYield(first: number, second: number): boolean {
    const row = (first & LETTER_MASK) << LETTER_BITS
    if (isBlank(second)) return this.#pairs[row] === 1
    // The second character may be an accent, or a full stop within an abbreviation.
    return !isPlainLetter(second) || this.#pairs[row | (second & LETTER_MASK)] === 1
  }
}
