import { CharClass, charClassOf, isBlank } from './char-class.ts'
import { normaliseWord } from './fold-word.ts'
import { guessLanguage } from './guess-language.ts'
import type { FirstLetters, RequestedTerms } from './requested-terms.ts'
import { type RunSink, scanRuns } from './scan-words.ts'
import { baseLanguage, type StemRule, stemRule, wholeWord } from './stem-word.ts'
import { unitsOf } from './text-units.ts'
import type { AnalysedField, LocatedField } from './types.ts'
import { prefixTerm, type WordTerms, wordTerms } from './word-terms.ts'

/** Receives all terms of a word of an alphabetic script. */
type WordSink = (word: WordTerms, position: number) => void
type TermSink = (term: string, position: number, start: number, end: number) => void

/**
 * A run of a dictionary script is passed to the segmenter in pieces of this many UTF-16 units, which bounds its work.
 */
const DICTIONARY_RUN_MAX = 4096

/** The longest character with its marks, in UTF-16 units. A longer one is cut. */
const UNIT_LENGTH_MAX = 8

let dictionaryWords: Intl.Segmenter | undefined

/**
 * Turns a text into terms by the rules of its language (ISO 639-1, a region may follow). Without a language it is
 * guessed. If that fails, each word is stemmed in the most common language of its script. Never throws, and takes time
 * in proportion to the text.
 */
export function analyse(text: string, language: string | null): AnalysedField {
  const terms: string[] = []
  const positions: number[] = []
  const length = readTerms(text, language, (term, position) => {
    terms.push(term)
    positions.push(position)
  })
  return { terms, positions, length }
}

/** Returns the same terms at the same positions, with their offsets in the text. */
export function analyseLocated(text: string, language: string | null): LocatedField {
  const field: LocatedField = { terms: [], positions: [], length: 0, starts: [], ends: [] }
  field.length = readTerms(text, language, (term, position, start, end) => {
    pushLocated(field, term, position, start, end)
  })
  return field
}

/**
 * Finds the requested terms of a text, at the positions that `analyse` would give them, relative to the first one
 * found. Only the text between two of them is analysed, because most texts have none or one. The length stays 0,
 * because it would need all words. Pass `guess` if the language of the text has been guessed already.
 */
export function locateTerms(
  text: string,
  language: string | null,
  requested: RequestedTerms,
  guess: typeof guessLanguage = guessLanguage,
): LocatedField {
  const field: LocatedField = { terms: [], positions: [], length: 0, starts: [], ends: [] }
  const { positions } = field
  const base = baseLanguage(language) ?? guess(text)
  const firstLetters = requested.firstLettersIn(base)
  const reader = new Reader(text, base, firstLetters, (term, position, start, end) => {
    if (requested.has(term)) pushLocated(field, term, position, start, end)
  })
  let countedTo = 0
  let next = 0
  scanCandidates(text, firstLetters, (from, to) => {
    const before = positions.length
    reader.position = 0
    reader.read(from, to)
    if (positions.length === before) return
    const length = reader.position
    reader.position = next
    if (before > 0) reader.read(countedTo, from)
    const offset = before > 0 ? reader.position : -positions[0]!
    for (let i = before; i < positions.length; i++) positions[i]! += offset
    next = offset + length
    countedTo = to
  })
  return field
}

/**
 * Returns the requested terms of a text in order, without positions. Only pieces between two blanks that may contain
 * one are analysed.
 */
export function findTerms(
  text: string,
  language: string | null,
  requested: RequestedTerms,
  onTerm: (term: string, start: number, end: number) => void,
): void {
  const base = languageOf(text, language)
  const firstLetters = requested.firstLettersIn(base)
  const reader = new Reader(text, base, firstLetters, (term, _, start, end) => {
    if (requested.has(term)) onTerm(term, start, end)
  })
  scanCandidates(text, firstLetters, (from, to) => reader.read(from, to))
}

/**
 * Splits a text without regard to its language: into terms of scripts that are analysed alike in all languages, and
 * words. A word takes a position if `word` returns true, because a term is left of it.
 */
export function locateWords(
  text: string,
  term: TermSink,
  word: (position: number, start: number, end: number, charClass: CharClass) => boolean,
): void {
  let position = 0
  scanRuns(text, (start, end, charClass) => {
    if (charClass === CharClass.dictionary) position = addDictionaryWords(text, start, end, position, term)
    else if (charClass >= CharClass.han) position = addPairs(text, start, end, position, term)
    else if (word(position, start, end, charClass)) position += 1
  })
}

/**
 * Visits the parts of a text that may contain a requested term, each from a blank to a blank. Visits the whole text if
 * `firstLetters` is null.
 */
function scanCandidates(
  text: string,
  firstLetters: FirstLetters | null,
  visit: (from: number, to: number) => void,
): void {
  if (firstLetters === null) {
    visit(0, text.length)
    return
  }
  const units = unitsOf(text)
  let end = 0
  for (
    let next = firstLetters.nextCandidate(units, 0);
    next < text.length;
    next = firstLetters.nextCandidate(units, end)
  ) {
    let start = next
    while (start > end && !isBlank(units[start - 1]!)) start -= 1
    end = next + 1
    while (end < text.length && !isBlank(units[end]!)) end += 1
    visit(start, end)
  }
}

function pushLocated(field: LocatedField, term: string, position: number, start: number, end: number): void {
  field.terms.push(term)
  field.positions.push(position)
  field.starts.push(start)
  field.ends.push(end)
}

/**
 * Returns the field length, which is the positions without those of stop words. Passes the terms to `sink` one by one,
 * or to `wordSink` by word.
 */
export function readTerms(text: string, language: string | null, sink: TermSink, wordSink?: WordSink): number {
  const reader = new Reader(text, languageOf(text, language), null, sink, wordSink)
  reader.read(0, text.length)
  return reader.position - reader.stopWords
}

function languageOf(text: string, language: string | null): string | null {
  return baseLanguage(language) ?? guessLanguage(text)
}

/**
 * Passes on the terms of a text, or of parts that begin and end at blanks, and counts their positions. Words whose
 * first letters rule out a requested term are skipped, so they are not checked for stop words.
 */
class Reader {
  position = 0
  stopWords = 0
  readonly #text: string
  readonly #language: string | null
  readonly #firstLetters: FirstLetters | null
  readonly #sink: TermSink
  readonly #wordSink: WordSink | null
  readonly #rules: StemRule[] = []

  constructor(
    text: string,
    language: string | null,
    firstLetters: FirstLetters | null,
    sink: TermSink,
    wordSink: WordSink | null = null,
  ) {
    this.#text = text
    this.#language = language
    this.#firstLetters = firstLetters
    this.#sink = sink
    this.#wordSink = wordSink
  }

  read(from: number, to: number): void {
    scanRuns(this.#text, this.#addRun, from, to)
  }

  readonly #addRun: RunSink = (start, end, charClass) => {
    const text = this.#text
    const sink = this.#sink
    if (charClass === CharClass.dictionary) {
      this.position = addDictionaryWords(text, start, end, this.position, sink)
    } else if (charClass >= CharClass.han) {
      this.position = addPairs(text, start, end, this.position, sink)
    } else if (this.#firstLetters?.rulesOut(text, start)) {
      this.position += 1
    } else {
      this.#rules[charClass] ??= stemRule(this.#language, charClass)
      const word = wordTerms(text, start, end, this.#rules[charClass])
      if (word.terms.length === 0) return
      if (this.#wordSink !== null) this.#wordSink(word, this.position)
      else for (const term of word.terms) sink(term, this.position, start, end)
      this.position += 1
      if (word.isStopWord) this.stopWords += 1
    }
  }
}

/** Returns the end of the character at `start` with its marks. */
function endOfUnit(text: string, start: number, end: number): number {
  let index = start + (text.codePointAt(start)! > 0xffff ? 2 : 1)
  while (index < end) {
    const codePoint = text.codePointAt(index)!
    if (charClassOf(codePoint) !== CharClass.extend) break
    index += codePoint > 0xffff ? 2 : 1
  }
  return index
}

/** The common ideographs, kana and syllables are normal forms already. */
function isNormalUnit(code: number): boolean {
  return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0x3041 && code <= 0x30fe)
}

function unitTerm(text: string, start: number, end: number): string {
  if (end - start === 1 && isNormalUnit(text.charCodeAt(start))) return text[start]!
  return normaliseWord(text.slice(start, Math.min(end, start + UNIT_LENGTH_MAX)))
}

/**
 * Indexes Han, kana and Hangul by bigrams (pairs of neighbouring characters), so a run of n takes n - 1 positions. A
 * Han character is also a term by itself, because it may be a word. A Hangul syllable is one only if it stands alone or
 * is the first of two (a noun of one syllable with its particle), and a kana only if no pair begins with it. The first
 * syllable of a longer Hangul word is marked, for prefix queries.
 */
function addPairs(text: string, start: number, end: number, position: number, sink: TermSink): number {
  let next = position
  let count = 0
  let previous = ''
  let previousStart = start
  let previousClass: CharClass = CharClass.other
  for (let from = start; from < end; ) {
    const to = endOfUnit(text, from, end)
    const unit = unitTerm(text, from, to)
    if (unit !== '') {
      if (previous !== '') {
        if (previousClass === CharClass.han) sink(previous, next, previousStart, from)
        sink(previous + unit, next, previousStart, to)
        if (count === 1 && previousClass === CharClass.hangul) {
          sink(to === end ? previous : prefixTerm(previous), next, previousStart, from)
        }
        next += 1
      }
      previous = unit
      previousStart = from
      previousClass = charClassOf(text.codePointAt(from)!)
      count += 1
    }
    from = to
  }
  if (count === 1) {
    sink(previous, next, previousStart, end)
    next += 1
  } else if (count > 1 && previousClass !== CharClass.hangul) {
    sink(previous, next - 1, previousStart, end)
  }
  return next
}

function addDictionaryWords(text: string, start: number, end: number, position: number, sink: TermSink): number {
  dictionaryWords ??= new Intl.Segmenter('th', { granularity: 'word' })
  let next = position
  for (let from = start; from < end; from += DICTIONARY_RUN_MAX) {
    const piece = text.slice(from, Math.min(end, from + DICTIONARY_RUN_MAX))
    for (const { segment, index } of dictionaryWords.segment(piece)) {
      const { terms } = wordTerms(segment, 0, segment.length, wholeWord)
      for (const term of terms) sink(term, next, from + index, from + index + segment.length)
      if (terms.length > 0) next += 1
    }
  }
  return next
}
