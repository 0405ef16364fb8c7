import { type RawBuilder, sql } from 'kysely'
import { bitsOf, openedBy } from '../../access/event-fields.ts'
import type { Scope, ScopeEntry } from '../../access/scope.ts'
import type { EventType } from '../../changes/change-log.ts'

/**
 * True for every event that a reader may get, and for few others. With several entries it does not check which fields
 * they grant together. Events of earlier versions, and erasures of texts in several languages, are matched by dataset
 * and platform only. `selectVisibleEvents` makes the final decision.
 *
 * Callers bound the range of the sequence, because no index holds the events of a scope.
 */
export function mayBeReadable(scope: Scope, types: readonly EventType[]): RawBuilder<boolean> {
  const isUpdateRequested = types.includes('document.updated')
  const entries = scope.entries.map((entry) => {
    const own = sql`${isOneOf('dataset_id', entry.datasets)} and ${isOneOf('source_platform', entry.platforms)}`
    const bits = bitsOf(entry.fields) & ~(isUpdateRequested ? 0 : openedBy.withoutMetrics)
    const now = sql`${hasBit(bits)} and ${isAt(entry, 'language', 'region', 'published_at')}`
    const was = isAt(entry, 'language_before', 'region_before', 'published_before')
    const before = sql`${hasBit(openedBy.moved)} and (event.event_type = 'document.erased' or (${was}))`
    return sql`(${own} and (event.opened_by is null or (${now}) or (${before})))`
  })
  return sql<boolean>`(${sql.join(entries, sql` or `)})`
}

/**
 * The types under which the events are stored. For readers without `metrics`, a stored `document.metrics.updated` can
 * be a `document.updated`.
 */
export const storedTypes = (scope: Scope, types: readonly EventType[]): readonly EventType[] =>
  types.includes('document.updated') && scope.entries.some(({ fields }) => !fields.includes('metrics'))
    ? [...new Set<EventType>([...types, 'document.metrics.updated'])]
    : types

const hasBit = (bits: number) => sql`(event.opened_by & ${sql.lit(bits)}) <> 0`

function isAt(
  { languages, regions, publishedFrom, publishedTo }: ScopeEntry,
  language: string,
  region: string,
  published: string,
): RawBuilder<unknown> {
  const tests = [isOneOf(language, languages), isOneOf(region, regions)]
  if (publishedFrom !== null) tests.push(sql`${sql.ref(`event.${published}`)} >= ${publishedFrom}`)
  if (publishedTo !== null) tests.push(sql`${sql.ref(`event.${published}`)} < ${publishedTo}`)
  return sql.join(tests, sql` and `)
}

const isOneOf = (column: string, values: readonly string[] | null): RawBuilder<unknown> =>
  values === null ? sql`true` : sql`${sql.ref(`event.${column}`)} in (${sql.join(values)})`
