import type { Kysely } from 'kysely'
import { newId } from '../../ids.ts'
import { eventRow, knownDocument, termsOf } from './document-rows.ts'
import { lastRevision } from './index-revisions.ts'
import { insertRows } from './insert-rows.ts'
import { sql } from './kysely.ts'
import type { DocumentRow, Tables } from './tables.ts'
import { tombstonesToBe } from './tombstones.ts'

/** Rows of keys in one statement: far below what any database takes. */
const keysAtOnce = 200

/** The documents themselves go, and nothing that reads begins anywhere else. What hangs on them is removed later. */
export async function hideDocuments(
  db: Kysely<Tables>,
  rows: readonly DocumentRow[],
  { erasureId, keepTombstones }: { readonly erasureId: string; readonly keepTombstones: boolean },
  nowMs: number,
): Promise<void> {
  if (rows.length === 0) return
  const documentIds = rows.map((row) => row.document_id)
  const tombstones = await tombstonesToBe(db)
  let revision = await lastRevision(db)
  const terms = rows.flatMap((row) => termsOf(knownDocument(row)))
  for (const [kind, ofKind] of Map.groupBy(terms, (term) => term.kind)) {
    for (const some of portions(ofKind)) {
      const keys = some.map((term) => sql`(${term.value}, ${term.dataset_id}, ${term.document_id})`)
      await db
        .deleteFrom('document_term')
        .where('kind', '=', kind)
        .where(sql<boolean>`(value, dataset_id, document_id) in (values ${sql.join(keys)})`)
        .execute()
    }
  }
  for (const some of portions(documentIds)) {
    await db.deleteFrom('document').where('document_id', 'in', some).execute()
  }
  await insertRows(
    db,
    'erased_document',
    rows.map((row) => ({
      document_id: row.document_id,
      erasure_id: erasureId,
      index_revision: ++revision,
      tombstone: keepTombstones
        ? tombstones.of({ datasetId: row.dataset_id, platform: row.source_platform, externalId: row.external_id })
        : null,
      remains: 1,
    })),
  )
  await insertRows(
    db,
    'event',
    rows.map((row) =>
      eventRow({
        eventId: newId('evt', nowMs),
        type: 'document.erased',
        datasetId: row.dataset_id,
        platform: row.source_platform,
        documentId: row.document_id,
        versionId: null,
        changedFields: [],
        occurredAt: nowMs,
        observedAt: nowMs,
        ingestedAt: nowMs,
      }),
    ),
  )
}

/** All that hangs on documents that are hidden. */
export async function removeRemains(db: Kysely<Tables>, documentIds: readonly string[]): Promise<void> {
  for (const some of portions(documentIds)) {
    const versions = await db
      .selectFrom('document_version')
      .select('version_id')
      .where('document_id', 'in', some)
      .execute()
    for (const versionIds of portions(versions.map((row) => row.version_id))) await removeChunks(db, versionIds)
    for (const table of ['document_version', 'snapshot', 'fact_set', 'live_item'] as const) {
      await db.deleteFrom(table).where('document_id', 'in', some).execute()
    }
    await db.updateTable('erased_document').set({ remains: null }).where('document_id', 'in', some).execute()
  }
}

/**
 * Events between two places that tell of documents which one job, or any, has erased: their ids stay, and when each was made,
 * which its id says too. What they said of the document goes.
 */
export async function forgetEvents(
  db: Kysely<Tables>,
  { after, through }: { readonly after: number; readonly through: number },
  erasureId: string | null,
): Promise<void> {
  await db
    .updateTable('event')
    .set((eb) => ({ changed_fields: '[]', occurred_at: eb.ref('ingested_at'), observed_at: eb.ref('ingested_at') }))
    .where('sequence', '>', after)
    .where('sequence', '<=', through)
    .where(({ exists, selectFrom }) => {
      const erased = selectFrom('erased_document')
        .select('erased_document.document_id')
        .whereRef('erased_document.document_id', '=', 'event.document_id')
      return exists(erasureId === null ? erased : erased.where('erasure_id', '=', erasureId))
    })
    .execute()
}

async function removeChunks(db: Kysely<Tables>, versionIds: readonly string[]): Promise<void> {
  const chunks = await db
    .selectFrom('chunk')
    .select(['chunk_id', 'text_hash'])
    .where('version_id', 'in', versionIds)
    .execute()
  const profiles = await db.selectFrom('embedding_profile').select('profile_id').execute()
  for (const some of portions(chunks)) {
    const chunkIds = some.map((row) => row.chunk_id)
    // By profile, because the tables are stored in that order.
    for (const { profile_id } of profiles) {
      for (const table of ['chunk_vector', 'pending_vector', 'refused_vector'] as const) {
        await db.deleteFrom(table).where('profile_id', '=', profile_id).where('chunk_id', 'in', chunkIds).execute()
      }
    }
    const texts = some.flatMap((row) => (row.text_hash === null ? [] : sql`(${row.text_hash}, ${row.chunk_id})`))
    if (texts.length > 0) {
      await db
        .deleteFrom('text_chunk')
        .where(sql<boolean>`(text_hash, chunk_id) in (values ${sql.join(texts)})`)
        .execute()
    }
  }
  await db.deleteFrom('chunk').where('version_id', 'in', versionIds).execute()
}

function* portions<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += keysAtOnce) yield all.slice(from, from + keysAtOnce)
}
