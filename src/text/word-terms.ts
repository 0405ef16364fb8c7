import { foldAccents, normaliseWord } from './fold-word.ts'
import { type StemRule, stemWord } from './stem-word.ts'
import { isStopWord } from './stop-words.ts'
import { detach } from './word-cache.ts'
import { WordTable } from './word-table.ts'

/** In UTF-16 units; what is longer is cut, in documents and queries alike. */
const WORD_LENGTH_MAX = 64
/** Words kept of each of the two generations of a language: some 4 MB for the busiest language, in each thread. */
const CACHED_WORDS_MAX = 20_000

/**
 * Where a language has no stemmer, a word of so many letters or more is also indexed by the first of them, for 1.4 times the
 * postings. Measured on stemmed languages as if they had none (nDCG@10 of words; with first letters; of stems): German .920,
 * .950, .941; Spanish .950, .964, .964; Arabic .897, .905, .937. Words of just so many letters, which longer forms begin
 * with, are worth .947 to .951 in German, .965 to .966 in Spanish and .899 to .902 in Arabic.
 */
const PREFIX_LENGTH = 6

/** Before a word that is no term of its own. */
export const WORD_MARK = '='

export type WordTerms = {
  /**
   * The word itself, case and accents apart, comes first, with `=` before it where no query asks for it as it is. Then one
   * term, or two where the word is indexed in two forms. None if nothing of it is left.
   */
  readonly terms: readonly string[]
  readonly isStopWord: boolean
  /** Where somebody gives numbers to terms: who, 0 for nobody, and the number of each. */
  numberedBy: number
  readonly numbers: number[]
}

const tables = new WeakMap<StemRule, WordTable<WordTerms>>()

function cutWord(word: string): string {
  if (word.length <= WORD_LENGTH_MAX) return word
  const splitsPair = (word.charCodeAt(WORD_LENGTH_MAX) & 0xfc00) === 0xdc00
  return word.slice(0, splitsPair ? WORD_LENGTH_MAX - 1 : WORD_LENGTH_MAX)
}

/**
 * The stem is taken with the accents on, because suffixes are told by them, and folded afterwards. Where a writer who
 * leaves the accents out would get another stem, that one is a second term: `résumé` gives `resume` and `resum`, so
 * that `resume` finds it.
 */
function makeTerms(normalised: string, folded: string, { form, language }: StemRule): string[] {
  if (folded === '') return []
  if (form === 'prefix') return folded.length >= PREFIX_LENGTH ? [folded, prefixTerm(folded)] : [folded]
  if (form === 'whole') return [folded]
  const term = foldAccents(stemWord(normalised, language))
  if (folded === normalised) return [term]
  const plain = foldAccents(stemWord(folded, language))
  return plain === term ? [term] : [term, plain]
}

/** So that it can be told by its own letters what words a text has, however it is stemmed. */
function withWord(folded: string, terms: readonly string[]): readonly string[] {
  if (folded === '' || terms[0] === folded) return terms
  return terms.includes(folded) ? [folded, ...terms.filter((term) => term !== folded)] : [WORD_MARK + folded, ...terms]
}

/** What words begin with; the star keeps it apart from a word of the same letters. */
export function prefixTerm(word: string): string {
  return `${word.slice(0, PREFIX_LENGTH)}*`
}

export function isPrefixTerm(term: string): boolean {
  return term.endsWith('*')
}

/** Whether the term stands for a word as it is written, and is none that a query asks for. */
export function isMarkedWord(term: string): boolean {
  return term.startsWith(WORD_MARK)
}

/** The terms of a word that `scanRuns` found, from `start` to `end` of the text. */
export function wordTerms(text: string, start: number, end: number, rule: StemRule): WordTerms {
  if (end - start > WORD_LENGTH_MAX) {
    const cut = cutWord(text.slice(start, end))
    return wordTerms(cut, 0, cut.length, rule)
  }
  let table = tables.get(rule)
  if (table === undefined) {
    table = new WordTable(CACHED_WORDS_MAX)
    tables.set(rule, table)
  }
  const known = table.get(text, start, end)
  if (known !== undefined) return known
  const own = detach(text.slice(start, end))
  const made = termsOf(own)(rule)
  table.set(own, made)
  return made
}

/** The same by any rule, without remembering it. */
export function termsOf(word: string): (rule: StemRule) => WordTerms {
  const normalised = normaliseWord(cutWord(word))
  const folded = foldAccents(normalised)
  return (rule) => ({
    terms: withWord(folded, makeTerms(normalised, folded, rule)),
    isStopWord: rule.language !== null && isStopWord(folded, rule.language),
    numberedBy: 0,
    numbers: [],
  })
}
