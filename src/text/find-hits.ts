import { findTerms, locateTerms } from './analyse.ts'
import { hasPrefix, RequestedTerms } from './requested-terms.ts'
import type { KeywordQuery, LocatedField, LocatedText, PhraseClause } from './types.ts'

/** A range of the text that a clause of the query matched. `clause` is its index among the query's clauses. */
export type Hit = { start: number; end: number; clause: number }

/** A query prepared for finding it in texts, computed once for as long as the query is in use. */
type PreparedQuery = {
  clausesByTerm: ReadonlyMap<string, readonly number[]>
  prefixes: readonly (readonly [number, string])[]
  phrases: readonly (readonly [number, PhraseClause])[]
  /** Whether a clause also matches by prefix or by other terms. */
  hasExpansions: boolean
  requested: RequestedTerms
}
const preparedQueries = new WeakMap<KeywordQuery, PreparedQuery>()

/**
 * Returns where a text matches the words and phrases of a query, ordered by start. A phrase is one hit from its first
 * word to its last; its words elsewhere are not hits. If the terms of the query were `located` in the text before, by
 * the same rules, the text is not read again.
 */
export function findHits(
  text: string,
  language: string | null,
  query: KeywordQuery,
  located: LocatedText | null = null,
): Hit[] {
  let prepared = preparedQueries.get(query)
  if (prepared === undefined) {
    prepared = prepare(query)
    preparedQueries.set(query, prepared)
  }
  const { clausesByTerm, prefixes, phrases, hasExpansions, requested } = prepared
  if (clausesByTerm.size + prefixes.length + phrases.length === 0) return []

  const hits: Hit[] = []
  const addHits = (term: string, start: number, end: number): void => {
    for (const clause of clausesByTerm.get(term) ?? []) hits.push({ start, end, clause })
    for (const [clause, prefix] of prefixes) {
      // A word and its stem can have the same prefix, but are one hit.
      const isHit = hits.at(-1)?.clause === clause && hits.at(-1)?.start === start
      if (!isHit && hasPrefix(term, prefix)) hits.push({ start, end, clause })
    }
  }
  const known = located?.language === language && !hasExpansions ? located.field : null
  if (phrases.length === 0 && known === null) {
    findTerms(text, language, requested, addHits)
  } else {
    const field = known ?? locateTerms(text, language, requested)
    for (const [index, term] of field.terms.entries()) addHits(term, field.starts[index]!, field.ends[index]!)
    for (const [clause, phrase] of phrases) {
      for (const range of findPhrase(field, phrase)) hits.push({ ...range, clause })
    }
  }
  return hits.sort((a, b) => a.start - b.start || a.end - b.end)
}

function prepare(query: KeywordQuery): PreparedQuery {
  const clausesByTerm = new Map<string, number[]>()
  const prefixes: [number, string][] = []
  const phrases: [number, PhraseClause][] = []
  let hasExpansions = false
  for (const [index, clause] of query.clauses.entries()) {
    if (clause.kind === 'mustNot') continue
    if (clause.type === 'phrase') {
      phrases.push([index, clause])
      continue
    }
    const terms = new Set(clause.group)
    for (const match of clause.expansions ?? []) {
      hasExpansions = true
      if ('prefix' in match) prefixes.push([index, match.prefix])
      else for (const term of match.terms) terms.add(term)
    }
    for (const term of terms) clausesByTerm.set(term, [...(clausesByTerm.get(term) ?? []), index])
  }
  const inPhrases = phrases.flatMap(([, { groups }]) => groups.flat())
  const requested = new RequestedTerms(
    [...clausesByTerm.keys(), ...inPhrases],
    prefixes.map(([, prefix]) => prefix),
  )
  return { clausesByTerm, prefixes, phrases, hasExpansions, requested }
}

function* findPhrase(field: LocatedField, { groups }: PhraseClause): Generator<{ start: number; end: number }> {
  const sets = groups.map((group) => new Set(group))
  const firstTermAt: number[] = []
  for (const [index, position] of field.positions.entries()) firstTermAt[position] ??= index

  /** Returns the index of a term at this position that belongs to the group, or -1. */
  const termAt = (position: number, group: ReadonlySet<string>): number => {
    for (let index = firstTermAt[position] ?? -1; index >= 0 && field.positions[index] === position; index += 1) {
      if (group.has(field.terms[index]!)) return index
    }
    return -1
  }

  for (let position = 0; position + sets.length <= firstTermAt.length; position += 1) {
    const first = termAt(position, sets[0]!)
    if (first === -1) continue
    let last = first
    for (let step = 1; step < sets.length && last !== -1; step += 1) last = termAt(position + step, sets[step]!)
    if (last !== -1) yield { start: field.starts[first]!, end: field.ends[last]! }
  }
}
