import type { Kysely } from 'kysely'
import type { ChangesQuery, ScopeChanges } from '../../analysis/subscription-store.ts'
import { eventTypes } from '../../changes/change-log.ts'
import { firstIdAt } from '../../platform/ids.ts'
import { parseKnownBound } from '../../platform/time.ts'
import { isVersionOpen } from './browse-conditions.ts'
import { mayBeReadable } from './event-readers.ts'
import type { Tables } from './tables.ts'

/**
 * The times of the first and last event in a range of the feed that may change the input of a subscription; null if
 * there is none. May report too many events, never too few. An event of an existing document counts if the application
 * may read the event and its first-ingest time matches. Other conditions of the input are not tested, because the
 * document may just have stopped matching them. A new document is tested by all conditions.
 */
export async function changesOf(
  db: Kysely<Tables>,
  { scope, inputScope, withMetrics }: Pick<ChangesQuery, 'scope' | 'inputScope' | 'withMetrics'>,
  after: number,
  through: number,
): Promise<ScopeChanges | null> {
  const { content_types, published_from, published_to, created_from, created_to } = inputScope
  let query = db
    .selectFrom('event')
    .select((eb) => [eb.fn.min('event.ingested_at').as('firstAt'), eb.fn.max('event.ingested_at').as('lastAt')])
    .where('event.sequence', '>', after)
    .where('event.sequence', '<=', through)
    .where(mayBeReadable(scope, eventTypes))
    .where((eb) => {
      // Not a join: a planner without statistics would scan all documents for a few events.
      let inScope = eb
        .selectFrom('document')
        .innerJoin('document_version', 'document_version.version_id', 'document.current_version_id')
        .select('document.document_id')
        .whereRef('document.document_id', '=', 'event.document_id')
        .where(isVersionOpen(scope, 'document_version', 'document'))
      if (content_types !== undefined) inScope = inScope.where('document.content_type', 'in', content_types)
      if (published_from !== undefined) {
        inScope = inScope.where('document.published_at', '>=', parseKnownBound(published_from))
      }
      if (published_to !== undefined)
        inScope = inScope.where('document.published_at', '<', parseKnownBound(published_to))
      return eb.or([eb('event.event_type', '!=', 'document.created'), eb.exists(inScope)])
    })
  if (!withMetrics) query = query.where('event.event_type', '!=', 'document.metrics.updated')
  if (created_from !== undefined) {
    query = query.where('event.document_id', '>=', firstIdAt('doc', parseKnownBound(created_from)))
  }
  if (created_to !== undefined) {
    query = query.where('event.document_id', '<', firstIdAt('doc', parseKnownBound(created_to)))
  }
  const { firstAt, lastAt } = await query.executeTakeFirstOrThrow()
  return firstAt === null || lastAt === null ? null : { firstAt: Number(firstAt), lastAt: Number(lastAt) }
}
