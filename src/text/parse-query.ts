import { charClassOf, isAlphabetic } from './char-class.ts'
import { type QueryWord, queryWordReader } from './query-words.ts'
import type { Clause, ClauseKind, KeywordQuery, TermGroup, WordClause } from './types.ts'
import { prefixTerm } from './word-terms.ts'

/** UTF-16 units of a query that are read. The rest is ignored. */
const QUERY_LENGTH_MAX = 4000
/** The largest number of groups of each kind of clause. */
const GROUPS_MAX = 64
const BOOSTS_MAX = 32
/**
 * The weight of neighbouring words of the query that are neighbours in the text too, against 1 for a word. Measured
 * (nDCG@10) with 0 and 0.3: cranfield .378 and .384, cacm .480 and .504, Arabic .939 and .942; English and German
 * within .001.
 */
const PAIR_WEIGHT = 0.3

/** The weight of a word that has the last word as a prefix, against 1 for the word itself. */
const PREFIX_FACTOR = 0.5
const DIGIT = /\p{Nd}/u
const ONE_HANGUL = /^\p{sc=Hangul}$/u
const ONE_KANA = /^[\p{sc=Hiragana}\p{sc=Katakana}]$/u

type Piece = { kind: ClauseKind; quoted: boolean; text: string }

/**
 * Parses a keyword query. Words without `+` or `-` are OR-ed, `"…"` is a phrase, `+` before a word or phrase requires
 * it, `-` excludes it. A sign counts only at the start of a word, and `-` only before a letter or a quote, because
 * pasted text contains negative numbers. Everything else is punctuation: no text is refused.
 *
 * A signed word that the analysis splits (`+well-known`, `-机器学习`) is a phrase. Without a sign it is several words. Stop
 * words without a sign are ignored unless the query has nothing else. `languages` are those of the language filter;
 * without one the language is guessed from the query. With `lastIsPrefix` the last word, unless it is quoted or
 * excluded, is a prefix of a word that is still being typed. A query of a single kana is always a prefix, because a
 * text indexes the kana with the one after it.
 */
export function parseQuery(
  text: string,
  languages: readonly string[] | null,
  { lastIsPrefix = false } = {},
): KeywordQuery {
  const source = text.slice(0, QUERY_LENGTH_MAX)
  const read = queryWordReader(source, languages)
  const clauses = new ClauseList()
  const boosts = new ClauseList()
  const bareStopWords: QueryWord[] = []
  let previous: QueryWord | undefined

  const pieces = splitPieces(source).map((piece) => ({ ...piece, words: read(piece.text) }))
  const last = lastIsPrefix || ONE_KANA.test(source.normalize('NFKC').trim()) ? prefixWordOf(pieces) : null

  for (const { kind, quoted, text: piece, words } of pieces) {
    if (kind !== 'any' || quoted) {
      const [word] = words
      const typed = quoted ? `"${piece}"` : piece
      if (word !== undefined && words.length === 1 && kind === 'must' && !quoted) addWord(clauses, kind, word, last)
      else clauses.add(kind, groupsOf(words, kind), { typed })
      if (kind === 'any') for (const word of words) if (!word.isStopWord) boosts.add('any', [word.group], { typed })
      previous = kind === 'must' && words.length === 1 ? words[0] : undefined
      continue
    }
    for (const word of words) {
      if (word.isStopWord && word !== last) bareStopWords.push(word)
      else addWord(clauses, 'any', word, last)
      if (isPair(previous, word)) {
        const typed = `${previous.typed} ${word.typed}`
        boosts.add('any', [previous.strictGroup, word.strictGroup], { typed }, PAIR_WEIGHT)
      }
      previous = word
    }
  }
  if (!clauses.hasPositive()) for (const word of bareStopWords) addWord(clauses, 'any', word, last)
  // The boosts of a single clause hardly change the order of its matches, so they are not worth the work.
  return { clauses: clauses.all(), boosts: clauses.size > 1 ? boosts.all().slice(0, BOOSTS_MAX) : [] }
}

/** Returns the word that the caller may still be typing. */
function prefixWordOf(pieces: readonly (Piece & { words: readonly QueryWord[] })[]): QueryWord | null {
  const piece = pieces.at(-1)
  if (piece === undefined || piece.quoted || piece.kind === 'mustNot') return null
  // A signed word that is split is a phrase, which has no prefix.
  if (piece.kind === 'must' && piece.words.length > 1) return null
  return piece.words.at(-1) ?? null
}

function addWord(clauses: ClauseList, kind: ClauseKind, word: QueryWord, last: QueryWord | null): void {
  const { typed, folded, group, isAlphabetic } = word
  clauses.add(kind, [group], {
    typed,
    ...(word === last && folded !== '' ? { expansions: [{ ...prefixOf(folded), factor: PREFIX_FACTOR }] } : {}),
    ...(isAlphabetic && !DIGIT.test(folded) ? { correctable: folded } : {}),
  })
}

/**
 * For one Hangul syllable, uses the term that marks it at the start of a word, because pairs that begin with it also
 * occur within words.
 */
const prefixOf = (folded: string): { terms: TermGroup } | { prefix: string } =>
  ONE_HANGUL.test(folded) ? { terms: [prefixTerm(folded)] } : { prefix: folded }

function groupsOf(words: readonly QueryWord[], kind: ClauseKind): TermGroup[] {
  const isLoose = words.length === 1 && kind !== 'mustNot'
  return words.map((word) => (isLoose ? word.group : word.strictGroup))
}

function isPair(first: QueryWord | undefined, second: QueryWord): first is QueryWord {
  if (first === undefined || first.isStopWord || second.isStopWord) return false
  return first.isAlphabetic && second.isAlphabetic
}

type AboutWord = Pick<WordClause, 'expansions' | 'correctable'> & { typed: string }

/** Merges equal clauses and limits the number of each kind. */
class ClauseList {
  #byKey = new Map<string, Clause>()
  #groups: Record<ClauseKind, number> = { any: 0, must: 0, mustNot: 0 }

  add(kind: ClauseKind, groups: readonly TermGroup[], about: AboutWord, weight = 1): void {
    const key = JSON.stringify([kind, groups, about.expansions])
    const known = this.#byKey.get(key)
    if (known !== undefined) {
      known.weight += weight
      return
    }
    const kept = groups.slice(0, GROUPS_MAX - this.#groups[kind])
    const [first] = kept
    if (first === undefined) return
    this.#groups[kind] += kept.length
    const isWord = kept.length === 1
    const clause: Clause = isWord
      ? { type: 'word', kind, weight, group: first, ...about }
      : { type: 'phrase', kind, weight, groups: kept, typed: about.typed }
    this.#byKey.set(key, clause)
  }

  get size(): number {
    return this.#byKey.size
  }

  hasPositive(): boolean {
    return this.#groups.any + this.#groups.must > 0
  }

  all(): Clause[] {
    return [...this.#byKey.values()]
  }
}

const QUOTES = /["“”„‟＂]/u
const BLANK = /\s/u
const LETTER = /\p{L}/u
const SIGNS: ReadonlyMap<string, ClauseKind> = new Map([
  ['+', 'must'],
  ['＋', 'must'],
  ['-', 'mustNot'],
  ['－', 'mustNot'],
])

/**
 * Splits the text at blanks and at quotes that open a phrase. A quote right after a letter or digit (`5"`) opens none.
 */
function splitPieces(text: string): Piece[] {
  const pieces: Piece[] = []
  let index = 0
  while (index < text.length) {
    if (BLANK.test(text[index]!)) {
      index += 1
      continue
    }
    // In `„Model C“-Schulen` the dash is not a sign.
    const isFirst = index === 0 || BLANK.test(text[index - 1]!)
    const kind = (isFirst ? signAt(text, index) : undefined) ?? 'any'
    const start = kind === 'any' ? index : index + 1
    const closing = QUOTES.test(text[start] ?? '') ? nextQuote(text, start + 1) : -1
    const quoted = closing !== -1
    const end = quoted ? closing : endOfBareWord(text, start)
    pieces.push({ kind, quoted, text: text.slice(quoted ? start + 1 : start, end) })
    index = quoted ? end + 1 : end
  }
  return pieces
}

function signAt(text: string, index: number): ClauseKind | undefined {
  const kind = SIGNS.get(text[index]!)
  if (kind !== 'mustNot') return kind
  const next = String.fromCodePoint(text.codePointAt(index + 1) ?? 0)
  return LETTER.test(next) || QUOTES.test(next) ? kind : undefined
}

function nextQuote(text: string, from: number): number {
  const offset = text.slice(from).search(QUOTES)
  return offset === -1 ? -1 : from + offset
}

/** Returns the next blank, or the next quote that could open a phrase. */
function endOfBareWord(text: string, start: number): number {
  let index = start
  while (index < text.length && !BLANK.test(text[index]!)) {
    if (index > start && QUOTES.test(text[index]!) && !isAlphabetic(charClassOf(text.charCodeAt(index - 1)))) break
    index += 1
  }
  return index
}
