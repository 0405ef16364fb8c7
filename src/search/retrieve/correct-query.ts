import type { Scope } from '../../access/scope.ts'
import type { Conditions } from '../../document/field-types.ts'
import { queryWordReader } from '../../text/query-words.ts'
import type { Clause, KeywordQuery, TermExpansion, TermGroup, WordClause } from '../../text/types.ts'
import { isMarkedWord, isPrefixTerm, WORD_MARK } from '../../text/word-terms.ts'
import { searchLimits as limits } from '../limits.ts'
import type { TypoMode } from '../parse/search-request.ts'
import type { QueriedIndex, SearchFilters, SimilarWords, TimedOut, Unavailable } from '../search-index.ts'

/**
 * Corrects typing errors by also searching for similar words in the texts that the request may read. The typed word
 * stays in the query. A similar word counts less the more edits it is away. If the typed word itself is found, a
 * similar word counts so little that its matches rank after those of the typed word in nearly any text: only in a text
 * more than 53 times as long as the average does a single occurrence score less than a fiftieth of the maximum.
 */
const factorIfNotFound = 0.5
const factorIfFound = 0.02
/** The most corrections of a word that the boosts for adjacent words include. */
const correctionsInPairsMax = 3

export interface Correction {
  /** The word as typed. */
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
  readonly conditions?: Conditions
  readonly timeoutMs: number
}

type Correctable = WordClause & { readonly correctable: string }

export async function correctQuery(
  index: QueriedIndex,
  query: KeywordQuery,
  { text, typo, ...within }: Correcting,
): Promise<CorrectedQuery | TimedOut | Unavailable> {
  const correctable = query.clauses.filter(isCorrectable)
  if (correctable.length === 0) return { outcome: 'corrected', query, corrections: [] }
  const words = correctable.map(({ correctable: word, group, expansions = [] }) => ({
    word,
    // A match by prefix alone does not mean that the word is spelled correctly.
    group: group.filter((term) => !isPrefixTerm(term)),
    isPrefix: expansions.some((match) => 'prefix' in match),
    editsMax: editsMaxOf(word),
    unlessFound: typo === 'auto',
  }))
  // The index compares terms, not letters, because two words can be forms of one word in one language but not in
  // another.
  const excluded = query.clauses.flatMap((one) => (one.type === 'word' && one.kind === 'mustNot' ? one.group : []))
  const outcome = await index.similarWords({ words, excluded, ...within, limit: limits.correctionsMax })
  if (outcome.outcome !== 'found') return outcome
  const read = queryWordReader(text, within.filters.languages)
  /** The terms that find a word of the texts: those of a query for it, and the word itself in any language. */
  const termsOf = (word: string): TermGroup => [
    ...new Set([...read(word).flatMap(({ strictGroup }) => strictGroup), word, WORD_MARK + word]),
  ]
  const corrected = correctable.map((clause, i) => correct(clause, outcome.words[i]!, termsOf))
  const corrections = corrected.flatMap(({ clause, words: similar }) =>
    similar.map(({ word }) => ({ from: clause.typed ?? clause.correctable, to: word })),
  )
  return { outcome: 'corrected', query: withCorrections(query, corrected), corrections }
}

/** Counts letters as code points: one error from 4 letters on, two from 8 on. */
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
  readonly words: readonly { readonly word: string; readonly match: TermExpansion & { readonly terms: TermGroup } }[]
}

function correct(clause: Correctable, { isFound, similar }: SimilarWords, termsOf: (word: string) => TermGroup) {
  const factor = isFound ? factorIfFound : factorIfNotFound
  const words = similar.map(({ word, edits }) => ({ word, match: { terms: termsOf(word), factor: factor / edits } }))
  return { clause, words }
}

function withCorrections({ clauses, boosts }: KeywordQuery, corrected: readonly CorrectedClause[]): KeywordQuery {
  const matchesOf = new Map<Clause, readonly TermExpansion[]>(
    corrected.map(({ clause, words }) => [clause, words.map(({ match }) => match)]),
  )
  const correctionsOf = new Map(
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
        : { ...clause, expansions: [...(clause.expansions ?? []), ...matches] }
    }),
    boosts: boosts.map((boost) =>
      boost.type === 'word'
        ? boost
        : { ...boost, groups: boost.groups.map((group) => [...group, ...(correctionsOf.get(keyOf(group)) ?? [])]) },
    ),
  }
}

const keyOf = (group: TermGroup): string => JSON.stringify(group)
