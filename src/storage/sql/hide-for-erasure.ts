import type { Kysely } from 'kysely'
import type { Identity, Selection } from '../../operator/erasure-store.ts'
import { hideDocuments } from './erase-documents.ts'
import { idLists } from './id-lists.ts'
import { sql } from './kysely.ts'
import { runsWith } from './runs-with-documents.ts'
import type { DocumentRow, ErasureRow, Tables } from './tables.ts'

/** Takes documents away for a job, which counts them and knows of the runs that may have had one. */
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
 * Of a dataset that is being erased, what is sent in again before its turn has come: its turn is now. What is stored of it
 * would be acknowledged, and then be erased with the rest.
 */
export async function hideSentAgain(
  db: Kysely<Tables>,
  erasureId: string,
  sent: readonly Identity[],
  nowMs: number,
): Promise<void> {
  const row = () => db.selectFrom('erasure').selectAll().where('erasure_id', '=', erasureId).executeTakeFirstOrThrow()
  const selection = JSON.parse((await row()).selection ?? '{}') as Selection
  if (!('dataset' in selection)) return
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
}
