import type { Scope } from '../access/scope.ts'
import { queryWordReader } from '../text/query-words.ts'
import type { Clause, KeywordQuery, LooseMatch, TermGroup, WordClause } from '../text/types.ts'
import { isMarkedWord, isPrefixTerm, WORD_MARK } from '../text/word-terms.ts'
import { searchLimits as limits } from './limits.ts'
import type {
  AskedIndex,
  CatalogConditions,
  SearchFilters,
  SimilarWords,
  TimedOut,
  Unavailable,
} from './search-index.ts'

export const typoModes = ['off', 'auto', 'always'] as const
export type TypoMode = (typeof typoModes)[number]

/**
 * Typing errors are put right by asking for similar words too: those that stand in texts which the request may see. What
 * was typed stays in the query. A word of the texts counts for less the more errors it is away, and for so little where what
 * was typed is found as well that it comes after it, in whatever text: the word itself counts for a fiftieth of what it can
 * at most where it stands once in the body of a text 53 times as long as the average.
 */
const factorUnlessFound = 0.5
const factorWhereFound = 0.02
/** Neighbours of a corrected word are looked for beside as many of the words that it may have been meant for. */
const correctionsInPairsMax = 3

export interface Correction {
  /** As it was typed. */
  readonly from: string
  readonly to: string
}

export interface CorrectedQuery {
  readonly outcome: 'corrected'
  readonly query: KeywordQuery
  readonly corrections: readonly Correction[]
}

interface Correcting {
  readonly text: string
  readonly typo: Exclude<TypoMode, 'off'>
  readonly scope: Scope
  readonly filters: SearchFilters
  readonly conditions?: CatalogConditions
  readonly timeoutMs: number
}

type Correctable = WordClause & { readonly correctable: string }

export async function correctQuery(
  index: AskedIndex,
  query: KeywordQuery,
  { text, typo, ...within }: Correcting,
): Promise<CorrectedQuery | TimedOut | Unavailable> {
  const asked = query.clauses.filter(isCorrectable)
  if (asked.length === 0) return { outcome: 'corrected', query, corrections: [] }
  const words = asked.map(({ correctable, group, loose = [] }) => ({
    word: correctable,
    // What shares no more than its first letters is found too, and does not say that the word is right.
    group: group.filter((term) => !isPrefixTerm(term)),
    isBeginning: loose.some((match) => 'beginning' in match),
    editsMax: editsMaxOf(correctable),
    unlessFound: typo === 'auto',
  }))
  // Told by the texts, and not by the letters: forms of a word in one language are none in another.
  const excluded = query.clauses.flatMap((one) => (one.type === 'word' && one.kind === 'mustNot' ? one.group : []))
  const outcome = await index.similarWords({ words, excluded, ...within, limit: limits.correctionsMax })
  if (outcome.outcome !== 'found') return outcome
  const read = queryWordReader(text, within.filters.languages)
  /** What finds a word of the texts: what a query for it would ask for, and itself, whatever its language. */
  const termsOf = (word: string): TermGroup => [
    ...new Set([...read(word).flatMap(({ strictGroup }) => strictGroup), word, WORD_MARK + word]),
  ]
  const corrected = asked.map((clause, i) => correct(clause, outcome.words[i]!, termsOf))
  const corrections = corrected.flatMap(({ clause, words: meant }) =>
    meant.map(({ word }) => ({ from: clause.typed ?? clause.correctable, to: word })),
  )
  return { outcome: 'corrected', query: withCorrections(query, corrected), corrections }
}

/** By letters, which are code points: one error from 4 on, two from 8 on. */
function editsMaxOf(word: string): number {
  const letters = [...word].length
  return letters < 4 ? 0 : letters < 8 ? 1 : 2
}

function isCorrectable(clause: Clause): clause is Correctable {
  if (clause.type !== 'word' || clause.kind === 'mustNot' || clause.correctable === undefined) return false
  return editsMaxOf(clause.correctable) > 0
}

interface CorrectedClause {
  readonly clause: Correctable
  readonly words: readonly { readonly word: string; readonly match: LooseMatch & { readonly terms: TermGroup } }[]
}

function correct(clause: Correctable, { isFound, similar }: SimilarWords, termsOf: (word: string) => TermGroup) {
  const factor = isFound ? factorWhereFound : factorUnlessFound
  const words = similar.map(({ word, edits }) => ({ word, match: { terms: termsOf(word), factor: factor / edits } }))
  return { clause, words }
}

function withCorrections({ clauses, boosts }: KeywordQuery, corrected: readonly CorrectedClause[]): KeywordQuery {
  const matchesOf = new Map<Clause, readonly LooseMatch[]>(
    corrected.map(({ clause, words }) => [clause, words.map(({ match }) => match)]),
  )
  const meantFor = new Map(
    corrected.map(({ clause, words }) => [
      keyOf(clause.group.filter((term) => !isPrefixTerm(term))),
      words.slice(0, correctionsInPairsMax).flatMap(({ match }) => match.terms.filter((term) => !isMarkedWord(term))),
    ]),
  )
  return {
    clauses: clauses.map((clause) => {
      const matches = matchesOf.get(clause) ?? []
      return clause.type === 'phrase' || matches.length === 0
        ? clause
        : { ...clause, loose: [...(clause.loose ?? []), ...matches] }
    }),
    boosts: boosts.map((boost) =>
      boost.type === 'word'
        ? boost
        : { ...boost, groups: boost.groups.map((group) => [...group, ...(meantFor.get(keyOf(group)) ?? [])]) },
    ),
  }
}

const keyOf = (group: TermGroup): string => JSON.stringify(group)
