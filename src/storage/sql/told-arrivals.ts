import type { Kysely } from 'kysely'
import { firstIdAt, newId } from '../../ids.ts'
import { fieldsOfNew } from '../../ingest/document-state.ts'
import { eventRow, knownDocument } from './document-rows.ts'
import { insertRows } from './insert-rows.ts'
import type { Tables } from './tables.ts'

/** What came into a dataset while nobody could read it. */
export interface Arrivals {
  readonly datasetId: string
  /** Told up to this document. */
  readonly after: string
  /** Came later than this: readers found it. */
  readonly below: string
  readonly notBefore: number
}

/** Processes remember for half a second what an application may read (`Authenticator`): some do not see at once what is shown. */
const rememberedMs = 1000
/** How far the clocks of processes that take documents in may be apart. */
const clocksApartMs = 60_000

export const arrivalsAfter = (datasetId: string, after: string, shownAt: number): Arrivals => ({
  datasetId,
  after,
  below: firstIdAt('doc', shownAt + rememberedMs + clocksApartMs),
  notBefore: shownAt + rememberedMs,
})

/** Returns those that are left; null for none. */
export async function tellSome(
  db: Kysely<Tables>,
  arrivals: Arrivals,
  most: number,
  nowMs: number,
): Promise<Arrivals | 'later' | null> {
  const { datasetId, after, below, notBefore } = arrivals
  if (nowMs < notBefore) return 'later'
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
      }),
    ),
  )
  return rows.length < most ? null : { ...arrivals, after: rows.at(-1)!.document_id }
}
