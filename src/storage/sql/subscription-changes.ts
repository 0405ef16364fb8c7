import type { Kysely } from 'kysely'
import type { ChangesQuery, ScopeChanges } from '../../analysis/subscription-store.ts'
import { firstIdAt } from '../../ids.ts'
import { parseKnownTime } from '../../time.ts'
import { isVersionOpen } from './browse-conditions.ts'
import type { Tables } from './tables.ts'

/**
 * When the first and the last event of a stretch of the feed came that may change the input of a subscription; null where
 * none does. None that does is left out: an event of a document that was there before counts by what never changes of it
 * (dataset, platform, time of first ingest), because it may have left the scope just now. A new document is tested by all
 * that the input asks for.
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
    .where((eb) =>
      eb.or(
        scope.entries.map(({ datasets, platforms }) => {
          const dataset = eb('event.dataset_id', 'in', datasets)
          return platforms === null ? dataset : eb.and([dataset, eb('event.source_platform', 'in', platforms)])
        }),
      ),
    )
    .where((eb) => {
      // Not a join: a planner without statistics would walk all documents for a few events.
      let inScope = eb
        .selectFrom('document')
        .innerJoin('document_version', 'document_version.version_id', 'document.current_version_id')
        .select('document.document_id')
        .whereRef('document.document_id', '=', 'event.document_id')
        .where(isVersionOpen(scope, 'document_version', 'document'))
      if (content_types !== undefined) inScope = inScope.where('document.content_type', 'in', content_types)
      if (published_from !== undefined) {
        inScope = inScope.where('document.published_at', '>=', parseKnownTime(published_from))
      }
      if (published_to !== undefined)
        inScope = inScope.where('document.published_at', '<', parseKnownTime(published_to))
      return eb.or([eb('event.event_type', '!=', 'document.created'), eb.exists(inScope)])
    })
  if (!withMetrics) query = query.where('event.event_type', '!=', 'document.metrics.updated')
  if (created_from !== undefined) {
    query = query.where('event.document_id', '>=', firstIdAt('doc', parseKnownTime(created_from)))
  }
  if (created_to !== undefined) {
    query = query.where('event.document_id', '<', firstIdAt('doc', parseKnownTime(created_to)))
  }
  const { firstAt, lastAt } = await query.executeTakeFirstOrThrow()
  return firstAt === null || lastAt === null ? null : { firstAt: Number(firstAt), lastAt: Number(lastAt) }
}
