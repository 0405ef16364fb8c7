import { type Kysely, sql } from 'kysely'
import type { Identity, Selection } from '../../operator/erasure-store.ts'
import { hideDocuments } from './erase-documents.ts'
import { idLists } from './id-lists.ts'
import { runsWith } from './runs-with-documents.ts'
import type { DocumentRow, ErasureRow, Tables } from './tables.ts'

/**
 * Hides documents for an erasure job. Updates the job's count, and its list of the analysis runs that may contain them.
 */
export async function hideFor(
  db: Kysely<Tables>,
  row: ErasureRow,
  documents: readonly DocumentRow[],
  nowMs: number,
): Promise<void> {
  const known: string[] = JSON.parse(row.artifact_run_ids)
  const runIds = await runsWith(db, documents, known)
  if (row.purge_artifacts === 1 && runIds.length > 0) {
    await db
      .updateTable('analysis_run')
      .set({ expires_at: sql<number>`case when expires_at < ${nowMs} then expires_at else ${nowMs} end` })
      .where('run_id', 'in', runIds)
      .execute()
  }
  await hideDocuments(db, documents, { erasureId: row.erasure_id, keepTombstones: row.keep_tombstones === 1 }, nowMs)
  await db
    .updateTable('erasure')
    .set((eb) => ({
      documents: eb('documents', '+', documents.length),
      artifact_run_ids: JSON.stringify([...known, ...runIds]),
    }))
    .where('erasure_id', '=', row.erasure_id)
    .execute()
}

/**
 * Hides documents of a dataset that is being erased, if they are sent again before the job has reached them. Otherwise
 * the new content would be acknowledged and then erased with the rest. Returns an id after which the ids of new
 * documents must sort: a smaller id, from a clock that is behind, would be erased with the rest too.
 */
export async function hideSentAgain(
  db: Kysely<Tables>,
  erasureId: string,
  sent: readonly Identity[],
  nowMs: number,
): Promise<string | null> {
  const row = () => db.selectFrom('erasure').selectAll().where('erasure_id', '=', erasureId).executeTakeFirstOrThrow()
  const selection = JSON.parse((await row()).selection ?? '{}') as Selection
  if (!('dataset' in selection)) return null
  for (const ofPlatform of Map.groupBy(sent, ({ platform }) => platform).values()) {
    for (const externalIds of idLists([...new Set(ofPlatform.map(({ externalId }) => externalId))])) {
      const documents = await db
        .selectFrom('document')
        .selectAll()
        .where('dataset_id', '=', selection.dataset.datasetId)
        .where('source_platform', '=', ofPlatform[0]!.platform)
        .where('external_id', 'in', externalIds)
        .where('document_id', '<', selection.dataset.below)
        .execute()
      if (documents.length > 0) await hideFor(db, await row(), documents, nowMs)
    }
  }
  return selection.dataset.below
}
