import { type Kysely, sql } from 'kysely'
import { openedBy } from '../../access/event-fields.ts'
import { accessFieldsOf } from '../../ingest/document-state.ts'
import { newId } from '../../platform/ids.ts'
import { eventRow, knownDocument, termsOf } from './document-rows.ts'
import { lastRevision } from './index-revisions.ts'
import { insertRows } from './insert-rows.ts'
import type { DocumentRow, Tables } from './tables.ts'
import { ensureTombstones } from './tombstones.ts'

/** Far below the limit of any database. */
const keysPerStatement = 200

/**
 * Deletes the document rows. Every read begins with them, so the documents are hidden at once. `removeRemains` removes
 * the rest later.
 */
export async function hideDocuments(
  db: Kysely<Tables>,
  rows: readonly DocumentRow[],
  { erasureId, keepTombstones }: { readonly erasureId: string; readonly keepTombstones: boolean },
  nowMs: number,
): Promise<void> {
  if (rows.length === 0) return
  const documentIds = rows.map((row) => row.document_id)
  const languages = await otherLanguages(db, rows)
  const tombstones = await ensureTombstones(db)
  let revision = await lastRevision(db)
  const terms = rows.flatMap((row) => termsOf(knownDocument(row)))
  for (const [kind, ofKind] of Map.groupBy(terms, (term) => term.kind)) {
    for (const some of batches(ofKind)) {
      const keys = some.map((term) => sql`(${term.value}, ${term.dataset_id}, ${term.document_id})`)
      await db
        .deleteFrom('document_term')
        .where('kind', '=', kind)
        .where(sql<boolean>`(value, dataset_id, document_id) in (values ${sql.join(keys)})`)
        .execute()
    }
  }
  for (const some of batches(documentIds)) {
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
    rows.map((row) => {
      const now = accessFieldsOf(knownDocument(row))
      const others = languages.get(row.document_id)
      return eventRow({
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
        openedBy: openedBy.anyone,
        now,
        // Readers of earlier texts in other languages get the event too.
        before: others === undefined ? null : { ...now, language: [...others].join() },
      })
    }),
  )
}

/** The languages of these documents' versions that differ from the language of the document. */
async function otherLanguages(db: Kysely<Tables>, rows: readonly DocumentRow[]): Promise<Map<string, Set<string>>> {
  const languages = new Map<string, Set<string>>()
  const withEarlierVersions = new Map(rows.filter((row) => row.version_count > 1).map((row) => [row.document_id, row]))
  for (const documentIds of batches([...withEarlierVersions.keys()])) {
    const versions = await db
      .selectFrom('document_version')
      .select(['document_id', 'language'])
      .distinct()
      .where('document_id', 'in', documentIds)
      .where('language', 'is not', null)
      .execute()
    for (const { document_id, language } of versions) {
      if (language === withEarlierVersions.get(document_id)!.language) continue
      languages.set(document_id, (languages.get(document_id) ?? new Set()).add(language!))
    }
  }
  return languages
}

/** Removes everything that is left of hidden documents. */
export async function removeRemains(db: Kysely<Tables>, documentIds: readonly string[]): Promise<void> {
  for (const some of batches(documentIds)) {
    const versions = await db
      .selectFrom('document_version')
      .select('version_id')
      .where('document_id', 'in', some)
      .execute()
    for (const versionIds of batches(versions.map((row) => row.version_id))) await removeChunks(db, versionIds)
    for (const table of ['document_version', 'snapshot', 'fact_set', 'live_item'] as const) {
      await db.deleteFrom(table).where('document_id', 'in', some).execute()
    }
    await db.updateTable('erased_document').set({ remains: null }).where('document_id', 'in', some).execute()
  }
}

/**
 * Clears the events in a range that refer to documents erased by one job, or by any job if `erasureId` is null. Clears
 * the changed fields and the times of the document. The time of ingest stays, because the id of the event contains it
 * anyway.
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
  for (const some of batches(chunks)) {
    const chunkIds = some.map((row) => row.chunk_id)
    // By profile, because the primary keys begin with it.
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

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += keysPerStatement) yield all.slice(from, from + keysPerStatement)
}
