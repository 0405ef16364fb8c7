import { findHits } from '../text/find-hits.ts'
import { parseQuery } from '../text/parse-query.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { FeedDocument } from './parse-entries.ts'

/** A hit in the title says more of an entry than one in its body. */
const titleWeight = 3

/** The entries that a query asks for, by the rules of keyword search, best first and newer before older. */
export function matchEntries(entries: readonly FeedDocument[], text: string): FeedDocument[] {
  const query = parseQuery(text, null)
  // What must not be there is looked for as if it were asked for.
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

/** Each clause that the entry holds, with its weight. */
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
