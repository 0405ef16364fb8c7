import { findHits } from '../text/find-hits.ts'
import { parseQuery } from '../text/parse-query.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { FeedDocument } from './parse-entries.ts'

/** A match in the title counts more than one in the body. */
const titleWeight = 3

/** The entries that match a query by the rules of keyword search, best first, then newest first. */
export function matchEntries(entries: readonly FeedDocument[], text: string): FeedDocument[] {
  const query = parseQuery(text, null)
  // Excluded words are searched like required ones.
  const forbidden = query.clauses
    .filter(({ kind }) => kind === 'mustNot')
    .map((clause) => ({ ...clause, kind: 'any' }) as const)
  const must = query.clauses.flatMap(({ kind }, index) => (kind === 'must' ? [index] : []))
  const scored: { entry: FeedDocument; score: number }[] = []
  for (const entry of entries) {
    if (forbidden.length > 0 && clausesIn(entry, { clauses: forbidden, boosts: [] }).size > 0) continue
    const hits = clausesIn(entry, query)
    if (hits.size === 0 || !must.every((index) => hits.has(index))) continue
    scored.push({ entry, score: [...hits.values()].reduce((sum, weight) => sum + weight, 0) })
  }
  return scored
    .sort((a, b) => b.score - a.score || (b.entry.published_at ?? '').localeCompare(a.entry.published_at ?? ''))
    .map(({ entry }) => entry)
}

/** Each clause that the entry matches, with its weight. */
function clausesIn({ title = '', body = '', language = null }: Fields, query: KeywordQuery): Map<number, number> {
  const weights = new Map<number, number>()
  for (const { clause } of findHits(body, language, query)) weights.set(clause, 1)
  for (const { clause } of findHits(title, language, query)) weights.set(clause, titleWeight)
  return weights
}

interface Fields {
  readonly title?: string
  readonly body?: string
  readonly language?: string | null
}
