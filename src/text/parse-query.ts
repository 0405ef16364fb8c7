import { charClassOf, isAlphabetic } from './char-class.ts'
import { type QueryWord, queryWordReader } from './query-words.ts'
import type { Clause, ClauseKind, KeywordQuery, TermGroup } from './types.ts'

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

type Piece = { kind: ClauseKind; quoted: boolean; text: string }

/**
 * Reads a keyword query. Bare words are OR-ed, `"…"` is a phrase, `+` before a word or phrase demands it, `-` forbids
 * it; a sign counts only at the start of a word. Everything else is punctuation: no text is refused.
 *
 * A marked word that the analysis takes apart (`+well-known`, `-机器学习`) is a phrase. A bare one is several words.
 * Bare stop words are left out unless nothing else is asked for. `languages` are those of the language filter; without
 * one the language is guessed from the query.
 */
export function parseQuery(text: string, languages: readonly string[] | null): KeywordQuery {
  const source = text.slice(0, QUERY_LENGTH_MAX)
  const read = queryWordReader(source, languages)
  const clauses = new ClauseList()
  const boosts = new ClauseList()
  const bareStopWords: QueryWord[] = []
  let previous: QueryWord | undefined

  for (const { kind, quoted, text: piece } of splitPieces(source)) {
    const words = read(piece)
    if (kind !== 'any' || quoted) {
      clauses.add(kind, groupsOf(words, kind))
      if (kind === 'any') for (const word of words) if (!word.isStopWord) boosts.add('any', [word.group])
      previous = kind === 'must' && words.length === 1 ? words[0] : undefined
      continue
    }
    for (const word of words) {
      if (word.isStopWord) bareStopWords.push(word)
      else clauses.add('any', [word.group])
      if (isPair(previous, word)) boosts.add('any', [previous.strictGroup, word.strictGroup], PAIR_WEIGHT)
      previous = word
    }
  }
  if (!clauses.hasPositive()) for (const word of bareStopWords) clauses.add('any', [word.group])
  // What a lone clause matched, its own words and pairs would not put in another order worth the work.
  return { clauses: clauses.all(), boosts: clauses.size > 1 ? boosts.all().slice(0, BOOSTS_MAX) : [] }
}

function groupsOf(words: readonly QueryWord[], kind: ClauseKind): TermGroup[] {
  const isLoose = words.length === 1 && kind !== 'mustNot'
  return words.map((word) => (isLoose ? word.group : word.strictGroup))
}

function isPair(first: QueryWord | undefined, second: QueryWord): first is QueryWord {
  if (first === undefined || first.isStopWord || second.isStopWord) return false
  return first.isAlphabetic && second.isAlphabetic
}

/** Merges equal clauses and keeps each kind within its bound. */
class ClauseList {
  #byKey = new Map<string, Clause>()
  #groups: Record<ClauseKind, number> = { any: 0, must: 0, mustNot: 0 }

  add(kind: ClauseKind, groups: readonly TermGroup[], weight = 1): void {
    const key = JSON.stringify([kind, groups])
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
      ? { type: 'word', kind, weight, group: first }
      : { type: 'phrase', kind, weight, groups: kept }
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
