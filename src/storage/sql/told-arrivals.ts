import type { Kysely } from 'kysely'
import { openedBy } from '../../access/event-fields.ts'
import { fieldsOfNew, placeOf } from '../../ingest/document-state.ts'
import { firstIdAt, idTimeMs, newId } from '../../platform/ids.ts'
import { eventRow, knownDocument } from './document-rows.ts'
import { insertRows } from './insert-rows.ts'
import type { Tables } from './tables.ts'

/** The documents that arrived in a dataset while nobody could read it. */
export interface Arrivals {
  readonly datasetId: string
  /** Events are written for documents up to this id. */
  readonly after: string
  /** Documents from this id on arrived after the dataset was shown, so readers see their own events. */
  readonly below: string
  readonly notBefore: number
}

/**
 * Processes cache for half a second what an application may read (`Authenticator`), so some see a shown dataset only
 * after that.
 */
const rememberedMs = 1000
/** The largest assumed difference between the clocks of processes that ingest documents, in milliseconds. */
export const clocksApartMs = 60_000

export const arrivalsAfter = (
  datasetId: string,
  { after, newest }: { readonly after: string; readonly newest: string | null },
  shownAt: number,
): Arrivals => ({
  datasetId,
  after,
  below: firstIdAt('doc', Math.max(shownAt + rememberedMs + clocksApartMs, newest === null ? 0 : idTimeMs(newest) + 1)),
  notBefore: shownAt + rememberedMs,
})

/** Returns the remaining arrivals; null if there are none. */
export async function tellSome(
  db: Kysely<Tables>,
  arrivals: Arrivals,
  most: number,
  nowMs: number,
): Promise<Arrivals | 'later' | null> {
  const { datasetId, after, below, notBefore } = arrivals
  // If the clock has gone back since, the wait would be long, so it is skipped.
  if (nowMs < notBefore && notBefore - nowMs < clocksApartMs) return 'later'
  const rows = await db
    .selectFrom('document')
    .selectAll()
    .where('dataset_id', '=', datasetId)
    .where('document_id', '>', after)
    .where('document_id', '<', below)
    .orderBy('document_id')
    .limit(most)
    .execute()
  await insertRows(
    db,
    'event',
    rows.map((row) =>
      eventRow({
        eventId: newId('evt', nowMs),
        type: 'document.created',
        datasetId,
        platform: row.source_platform,
        documentId: row.document_id,
        versionId: row.current_version_id,
        changedFields: fieldsOfNew(knownDocument(row)),
        occurredAt: row.published_at ?? row.observed_at,
        observedAt: row.observed_at,
        ingestedAt: nowMs,
        openedBy: openedBy.anyone,
        now: placeOf(knownDocument(row)),
        before: null,
      }),
    ),
  )
  return rows.length < most ? null : { ...arrivals, after: rows.at(-1)!.document_id }
}
