import { charClassOf, isAlphabetic } from './char-class.ts'
import { type QueryWord, queryWordReader } from './query-words.ts'
import type { Clause, ClauseKind, KeywordQuery, TermGroup, WordClause } from './types.ts'
import { prefixTerm } from './word-terms.ts'

/** UTF-16 units of a query that are read; what follows is left out. */
const QUERY_LENGTH_MAX = 4000
/** Groups kept of each kind of clause. */
const GROUPS_MAX = 64
const BOOSTS_MAX = 32
/**
 * What words side by side add, against 1 for a word. Measured (nDCG@10) at 0 and 0.3: cranfield .378 and .384, cacm
 * .480 and .504, Arabic .939 and .942; English and German within .001.
 */
const PAIR_WEIGHT = 0.3

/** What a word that begins as the last one counts for, against one that is it. */
const BEGINNING_FACTOR = 0.5
const DIGIT = /\p{Nd}/u
const ONE_HANGUL = /^\p{sc=Hangul}$/u
const ONE_KANA = /^[\p{sc=Hiragana}\p{sc=Katakana}]$/u

type Piece = { kind: ClauseKind; quoted: boolean; text: string }

/**
 * Reads a keyword query. Bare words are OR-ed, `"…"` is a phrase, `+` before a word or phrase demands it, `-` forbids
 * it; a sign counts only at the start of a word. Everything else is punctuation: no text is refused.
 *
 * A marked word that the analysis takes apart (`+well-known`, `-机器学习`) is a phrase. A bare one is several words.
 * Bare stop words are left out unless nothing else is asked for. `languages` are those of the language filter; without
 * one the language is guessed from the query. `lastIsBeginning` takes the last word, unless it is quoted or forbidden, for
 * the beginning of one that is still being typed. A single kana that is the whole query is always one: within a text it is
 * indexed with the kana after it.
 */
export function parseQuery(
  text: string,
  languages: readonly string[] | null,
  { lastIsBeginning = false } = {},
): KeywordQuery {
  const source = text.slice(0, QUERY_LENGTH_MAX)
  const read = queryWordReader(source, languages)
  const clauses = new ClauseList()
  const boosts = new ClauseList()
  const bareStopWords: QueryWord[] = []
  let previous: QueryWord | undefined

  const pieces = splitPieces(source).map((piece) => ({ ...piece, words: read(piece.text) }))
  const last = lastIsBeginning || ONE_KANA.test(source.normalize('NFKC').trim()) ? beginningOf(pieces) : null

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
  // What a lone clause matched, its own words and pairs would not put in another order worth the work.
  return { clauses: clauses.all(), boosts: clauses.size > 1 ? boosts.all().slice(0, BOOSTS_MAX) : [] }
}

/** The word that may still be being typed. */
function beginningOf(pieces: readonly (Piece & { words: readonly QueryWord[] })[]): QueryWord | null {
  const piece = pieces.at(-1)
  if (piece === undefined || piece.quoted || piece.kind === 'mustNot') return null
  // A marked word that is cut apart is a phrase, which has no beginning.
  if (piece.kind === 'must' && piece.words.length > 1) return null
  return piece.words.at(-1) ?? null
}

function addWord(clauses: ClauseList, kind: ClauseKind, word: QueryWord, last: QueryWord | null): void {
  const { typed, folded, group, isAlphabetic } = word
  clauses.add(kind, [group], {
    typed,
    ...(word === last && folded !== '' ? { loose: [{ ...begunBy(folded), factor: BEGINNING_FACTOR }] } : {}),
    ...(isAlphabetic && !DIGIT.test(folded) ? { correctable: folded } : {}),
  })
}

/** A pair that a Hangul syllable begins can stand within a word; its place at the beginning of one is a term. */
const begunBy = (folded: string): { terms: TermGroup } | { beginning: string } =>
  ONE_HANGUL.test(folded) ? { terms: [prefixTerm(folded)] } : { beginning: folded }

function groupsOf(words: readonly QueryWord[], kind: ClauseKind): TermGroup[] {
  const isLoose = words.length === 1 && kind !== 'mustNot'
  return words.map((word) => (isLoose ? word.group : word.strictGroup))
}

function isPair(first: QueryWord | undefined, second: QueryWord): first is QueryWord {
  if (first === undefined || first.isStopWord || second.isStopWord) return false
  return first.isAlphabetic && second.isAlphabetic
}

type AboutWord = Pick<WordClause, 'loose' | 'correctable'> & { typed: string }

/** Merges equal clauses and keeps each kind within its bound. */
class ClauseList {
  #byKey = new Map<string, Clause>()
  #groups: Record<ClauseKind, number> = { any: 0, must: 0, mustNot: 0 }

  add(kind: ClauseKind, groups: readonly TermGroup[], about: AboutWord, weight = 1): void {
    const key = JSON.stringify([kind, groups, about.loose])
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
const SIGNS: ReadonlyMap<string, ClauseKind> = new Map([
  ['+', 'must'],
  ['＋', 'must'],
  ['-', 'mustNot'],
  ['－', 'mustNot'],
])

/** Cuts the text at blanks and at quotes that open a phrase. A quote right after a letter (`5"`) opens none. */
function splitPieces(text: string): Piece[] {
  const pieces: Piece[] = []
  let index = 0
  while (index < text.length) {
    if (BLANK.test(text[index]!)) {
      index += 1
      continue
    }
    // In `„Model C“-Schulen` the dash is no sign.
    const isFirst = index === 0 || BLANK.test(text[index - 1]!)
    const kind = (isFirst ? SIGNS.get(text[index]!) : undefined) ?? 'any'
    const start = kind === 'any' ? index : index + 1
    const closing = QUOTES.test(text[start] ?? '') ? nextQuote(text, start + 1) : -1
    const quoted = closing !== -1
    const end = quoted ? closing : endOfBareWord(text, start)
    pieces.push({ kind, quoted, text: text.slice(quoted ? start + 1 : start, end) })
    index = quoted ? end + 1 : end
  }
  return pieces
}

function nextQuote(text: string, from: number): number {
  const offset = text.slice(from).search(QUOTES)
  return offset === -1 ? -1 : from + offset
}

/** The next blank, or the next quote that could open a phrase. */
function endOfBareWord(text: string, start: number): number {
  let index = start
  while (index < text.length && !BLANK.test(text[index]!)) {
    if (index > start && QUOTES.test(text[index]!) && !isAlphabetic(charClassOf(text.charCodeAt(index - 1)))) break
    index += 1
  }
  return index
}
