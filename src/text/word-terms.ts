import { LRUCache } from 'lru-cache'
import { foldAccents, normaliseWord } from './fold-word.ts'
import { type StemRule, stemWord } from './stem-word.ts'
import { isStopWord } from './stop-words.ts'

/** In UTF-16 units. A longer word is cut, in documents and queries alike. */
const WORD_LENGTH_MAX = 64
/** The largest number of cached words of a language: about 4 MB in each thread. */
const CACHED_WORDS_MAX = 20_000

/**
 * In a language without a stemmer, a word of at least this many letters is also indexed by its first letters, for 1.4
 * times the postings. Measured on stemmed languages without their stemmer (nDCG@10 of words; with first letters; of
 * stems): German .920, .950, .941; Spanish .950, .964, .964; Arabic .897, .905, .937. Words of exactly this length are
 * included, because longer forms begin with them: that moves German from .947 to .951, Spanish from .965 to .966 and
 * Arabic from .899 to .902.
 */
const PREFIX_LENGTH = 6

/** The prefix of a word that is kept only for prefix and typo matching. */
export const WORD_MARK = '='

export type WordTerms = {
  /**
   * The word itself, without case and accents, comes first, prefixed with `=` if it is kept only for prefix and typo
   * matching. Then one term, or two if the word is indexed in two forms. Empty if nothing of the word is left.
   */
  readonly terms: readonly string[]
  readonly isStopWord: boolean
  /** The packer that numbered the terms last (0 for none), and the number of each. */
  numberedBy: number
  readonly numbers: number[]
}

const tables = new WeakMap<StemRule, LRUCache<string, WordTerms>>()

function cutWord(word: string): string {
  if (word.length <= WORD_LENGTH_MAX) return word
  const splitsPair = (word.charCodeAt(WORD_LENGTH_MAX) & 0xfc00) === 0xdc00
  return word.slice(0, splitsPair ? WORD_LENGTH_MAX - 1 : WORD_LENGTH_MAX)
}

/**
 * Stems the word with its accents, because suffixes are recognised by them, and folds the stem. If the word without
 * accents has another stem, that is a second term: `résumé` gives `resume` and `resum`, so that `resume` finds it.
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

/** Adds the word itself, without stemming, for prefix and typo matching. */
function withWord(folded: string, terms: readonly string[]): readonly string[] {
  if (folded === '' || terms[0] === folded) return terms
  return terms.includes(folded) ? [folded, ...terms.filter((term) => term !== folded)] : [WORD_MARK + folded, ...terms]
}

/** The term for the first letters of words. The star distinguishes it from a word of the same letters. */
export function prefixTerm(word: string): string {
  return `${word.slice(0, PREFIX_LENGTH)}*`
}

export function isPrefixTerm(term: string): boolean {
  return term.endsWith('*')
}

/** Whether the term is a word that is kept only for prefix and typo matching. */
export function isMarkedWord(term: string): boolean {
  return term.startsWith(WORD_MARK)
}

/** Returns the terms of a word that `scanRuns` found between `start` and `end`. */
export function wordTerms(text: string, start: number, end: number, rule: StemRule): WordTerms {
  if (end - start > WORD_LENGTH_MAX) {
    const cut = cutWord(text.slice(start, end))
    return wordTerms(cut, 0, cut.length, rule)
  }
  let table = tables.get(rule)
  if (table === undefined) {
    table = new LRUCache({ max: CACHED_WORDS_MAX })
    tables.set(rule, table)
  }
  const word = text.slice(start, end)
  const known = table.get(word)
  if (known !== undefined) return known
  const own = detach(word)
  const made = termsOf(own)(rule)
  table.set(own, made)
  return made
}

/** The same by any rule, without the cache. */
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

const NARROW = /^[\0-\xff]*$/u

/**
 * Copies a slice, because V8 keeps the whole text alive behind a long slice and a cache must hold only the word. The
 * copy takes one byte a letter where possible: the slices compared with it do so too, and two strings of one encoding
 * compare much faster.
 */
export function detach(slice: string): string {
  const encoding = NARROW.test(slice) ? 'latin1' : 'utf16le'
  return Buffer.from(slice, encoding).toString(encoding)
}
