import type { Kysely } from 'kysely'
import { openedBy } from '../../access/event-fields.ts'
import { accessFieldsOf, fieldsOfNew } from '../../ingest/document-state.ts'
import { firstIdAt, idTimeMs, newId } from '../../platform/ids.ts'
import { eventRow, knownDocument } from './document-rows.ts'
import { insertRows } from './insert-rows.ts'
import type { Tables } from './tables.ts'

/** The documents that were ingested into a dataset while it was hidden. They have no events yet. Stored as JSON. */
export interface Arrivals {
  readonly datasetId: string
  /** Events have been written for documents up to this id. */
  readonly after: string
  /** Documents from this id on were ingested after the dataset was shown again, so they have events of their own. */
  readonly below: string
  /** Events are not written before this time, in milliseconds since 1970. */
  readonly notBefore: number
}

/**
 * Each process caches for half a second what an application may read (`Authenticator`). After twice that time, every
 * process knows that the dataset is shown again.
 */
const cacheSettledMs = 1000
/** The assumed maximum difference between the clocks of processes that ingest documents. */
export const clocksApartMs = 60_000

export const arrivalsAfter = (
  datasetId: string,
  { after, newest }: { readonly after: string; readonly newest: string | null },
  shownAt: number,
): Arrivals => ({
  datasetId,
  after,
  below: firstIdAt(
    'doc',
    Math.max(shownAt + cacheSettledMs + clocksApartMs, newest === null ? 0 : idTimeMs(newest) + 1),
  ),
  notBefore: shownAt + cacheSettledMs,
})

/**
 * Writes events for up to `most` arrivals. Returns the remaining ones; null if there are none. Returns `later` before
 * the time from which on they may be written.
 */
export async function writeArrivalEvents(
  db: Kysely<Tables>,
  arrivals: Arrivals,
  most: number,
  nowMs: number,
): Promise<Arrivals | 'later' | null> {
  const { datasetId, after, below, notBefore } = arrivals
  // If the clock was set back since, the wait could be long, so it is skipped.
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
        now: accessFieldsOf(knownDocument(row)),
        before: null,
      }),
    ),
  )
  return rows.length < most ? null : { ...arrivals, after: rows.at(-1)!.document_id }
}
