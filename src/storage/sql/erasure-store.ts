import { type Kysely, sql } from 'kysely'
import { TidemarkError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Erasure, ErasureStatus, ErasureStore, Selection } from '../../operator/erasure-store.ts'
import type { AuditMark } from '../../operator/operator-store.ts'
import { hideDocuments, removeRemains } from './erase-documents.ts'
import { runsWith } from './runs-with-documents.ts'
import type { DocumentRow, ErasureRow, Tables } from './tables.ts'
import { knownTombstones } from './tombstones.ts'

/** An index that says nothing for so long is of a process that ended. When that starts again it looks what was erased. */
const indexSilenceMaxMs = 90_000

export function sqlErasureStore(db: Kysely<Tables>): ErasureStore {
  const rowOf = (erasureId: string) =>
    db.selectFrom('erasure').selectAll().where('erasure_id', '=', erasureId).executeTakeFirstOrThrow()

  return {
    async begin({ erasureId, selection, keepTombstones, purgeArtifacts, mustExist }, mark) {
      await db
        .insertInto('erasure')
        .values({
          erasure_id: erasureId,
          actor: mark.actor,
          selection: JSON.stringify(selection),
          documents: 0,
          keep_tombstones: keepTombstones ? 1 : 0,
          purge_artifacts: purgeArtifacts ? 1 : 0,
          artifact_run_ids: '[]',
          deletes_dataset: null,
          status: 'running' satisfies ErasureStatus,
          created_at: mark.at,
          completed_at: null,
        })
        .execute()
      await audit(
        db,
        'erasure.begin',
        erasureId,
        { by: Object.keys(selection)[0], keepTombstones, purgeArtifacts },
        mark,
      )
      if ('documentIds' in selection) {
        await hideSome(db, await rowOf(erasureId), selection.documentIds.length, mark.at)
      }
      const erasure = erasureOf(await rowOf(erasureId))
      if (mustExist && erasure.documents === 0) throw new TidemarkError('not_found', 'there is no such document')
      return erasure
    },

    async hide(erasureId, most, nowMs) {
      const row = await rowOf(erasureId)
      return row.selection === null ? false : hideSome(db, row, most, nowMs)
    },

    async remove(erasureId, most) {
      const rows = await db
        .selectFrom('erased_document')
        .select('document_id')
        .where('erasure_id', '=', erasureId)
        .where('remains', '=', 1)
        .orderBy('document_id')
        .limit(most)
        .execute()
      await removeRemains(
        db,
        rows.map((row) => row.document_id),
      )
      return rows.length === most
    },

    async isPurged(erasureId, nowMs) {
      const { newest } = await db
        .selectFrom('erased_document')
        .select((eb) => eb.fn.max('index_revision').as('newest'))
        .where('erasure_id', '=', erasureId)
        .executeTakeFirstOrThrow()
      if (newest === null) return true
      const copies = await db.selectFrom('index_copy').select(['purged_through', 'seen_at']).execute()
      const isRid = (copy: { purged_through: number }): boolean => copy.purged_through >= Number(newest)
      return copies.some(isRid) && copies.every((copy) => isRid(copy) || copy.seen_at < nowMs - indexSilenceMaxMs)
    },

    async complete(erasureId, nowMs) {
      const { status, actor, documents } = await rowOf(erasureId)
      if (status !== 'running') return
      await db
        .updateTable('erasure')
        .set({ status: 'completed' satisfies ErasureStatus, completed_at: nowMs })
        .where('erasure_id', '=', erasureId)
        .execute()
      await audit(db, 'erasure.complete', erasureId, { documents }, { actor, at: nowMs })
    },

    async unfinished() {
      const rows = await db
        .selectFrom('erasure')
        .selectAll()
        .where('status', '=', 'running' satisfies ErasureStatus)
        .orderBy('erasure_id')
        .execute()
      return rows.map(erasureOf)
    },

    async erasure(erasureId) {
      const row = await db.selectFrom('erasure').selectAll().where('erasure_id', '=', erasureId).executeTakeFirst()
      return row === undefined ? null : erasureOf(row)
    },

    async erasures({ before, limit }) {
      let query = db.selectFrom('erasure').selectAll().orderBy('erasure_id', 'desc').limit(limit)
      if (before !== null) query = query.where('erasure_id', '<', before)
      return (await query.execute()).map(erasureOf)
    },

    async lift(identity, mark) {
      const tombstone = (await knownTombstones(db))?.of(identity)
      if (tombstone === undefined) return false
      const { numUpdatedRows } = await db
        .updateTable('erased_document')
        .set({ tombstone: null })
        .where('tombstone', '=', tombstone)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return false
      await audit(db, 'tombstone.lift', identity.datasetId, {}, mark)
      return true
    },
  }
}

/** Returns whether there are more. */
async function hideSome(db: Kysely<Tables>, row: ErasureRow, most: number, nowMs: number): Promise<boolean> {
  const selection = JSON.parse(row.selection!) as Selection
  const documents = await selected(db, selection, most)
  const known: string[] = JSON.parse(row.artifact_run_ids)
  const runIds = await runsWith(db, documents, known)
  if (row.purge_artifacts === 1 && runIds.length > 0) {
    await db
      .updateTable('analysis_run')
      .set({ expires_at: sql<number>`case when expires_at < ${nowMs} then expires_at else ${nowMs} end` })
      .where('run_id', 'in', runIds)
      .execute()
  }
  const of = { erasureId: row.erasure_id, keepTombstones: row.keep_tombstones === 1 }
  await hideDocuments(db, documents, of, nowMs)
  const isAll = documents.length < most || 'documentIds' in selection
  await db
    .updateTable('erasure')
    .set((eb) => ({
      documents: eb('documents', '+', documents.length),
      artifact_run_ids: JSON.stringify([...known, ...runIds]),
      ...(isAll ? { selection: null } : {}),
    }))
    .where('erasure_id', '=', row.erasure_id)
    .execute()
  return !isAll
}

function selected(db: Kysely<Tables>, selection: Selection, most: number): Promise<DocumentRow[]> {
  const documents = db.selectFrom('document').selectAll().orderBy('document_id').limit(most)
  if ('documentIds' in selection) return documents.where('document_id', 'in', [...selection.documentIds]).execute()
  const { datasetId, platform, externalAuthorId } = selection.author
  return documents
    .where('source_platform', '=', platform)
    .where('external_author_id', '=', externalAuthorId)
    .where('dataset_id', '=', datasetId)
    .execute()
}

/** Who, when and how many; what it was is to be forgotten here too. */
async function audit(
  db: Kysely<Tables>,
  action: string,
  target: string,
  detail: object,
  { actor, at }: AuditMark,
): Promise<void> {
  await db
    .insertInto('audit')
    .values({ audit_id: newId('aud', at), at, actor, action, target, detail: JSON.stringify(detail) })
    .execute()
}

const erasureOf = (row: ErasureRow): Erasure => ({
  erasureId: row.erasure_id,
  status: row.status as ErasureStatus,
  documents: row.documents,
  isHidden: row.selection === null,
  purgeArtifacts: row.purge_artifacts === 1,
  artifactRunIds: JSON.parse(row.artifact_run_ids),
  createdAt: row.created_at,
  completedAt: row.completed_at,
})
