import type { Kysely } from 'kysely'
import type { AuditMark } from '../../operator/operator-store.ts'
import { formatTime } from '../../platform/time.ts'
import { auditErasure } from './audit-erasure.ts'
import { hideDocuments } from './erase-documents.ts'
import { idLists } from './id-lists.ts'
import { lastRevision } from './index-revisions.ts'
import { insertRows } from './insert-rows.ts'
import type { DocumentRow, ErasedDocumentRow, Tables } from './tables.ts'
import { tombstoneSecret } from './tombstones.ts'

/** A document that was erased after the backup was made, with the job that erased it. */
export interface ErasedSince extends Pick<ErasedDocumentRow, 'document_id' | 'erasure_id' | 'tombstone'> {
  readonly keepTombstone: boolean
}

/**
 * Adopts the secret for tombstones. An instance keeps one secret for its whole life, so a store has either that secret
 * or none, if it is from before the first erasure. Returns the secret that is now in use.
 */
export async function takeOverSecret(db: Kysely<Tables>, secret: string | null): Promise<string | null> {
  const known = await tombstoneSecret(db)
  if (known !== null || secret === null) return known
  await insertRows(db, 'tombstone_key', [{ one: 1, secret }])
  return secret
}

/**
 * Hides the documents that the store has, and records that the others were erased. Returns the hidden documents.
 */
export async function hideAgain(
  db: Kysely<Tables>,
  erased: readonly ErasedSince[],
  nowMs: number,
): Promise<readonly DocumentRow[]> {
  const ids = erased.map((row) => row.document_id)
  if (ids.length === 0) return []
  const documents: DocumentRow[] = []
  const known = new Set<string>()
  for (const some of idLists(ids)) {
    documents.push(...(await db.selectFrom('document').selectAll().where('document_id', 'in', some).execute()))
    const before = db.selectFrom('erased_document').select('document_id').where('document_id', 'in', some)
    for (const row of await before.execute()) known.add(row.document_id)
  }
  const there = new Map(documents.map((row) => [row.document_id, row]))
  const again = erased.filter((row) => there.has(row.document_id))
  for (const [erasureId, ofJob] of Map.groupBy(again, (row) => row.erasure_id)) {
    for (const [keepTombstones, some] of Map.groupBy(ofJob, (row) => row.keepTombstone)) {
      const rows = some.map((row) => there.get(row.document_id)!)
      await hideDocuments(db, rows, { erasureId, keepTombstones }, nowMs)
    }
  }
  let revision = await lastRevision(db)
  const unknown = erased.filter((row) => !there.has(row.document_id) && !known.has(row.document_id))
  await insertRows(
    db,
    'erased_document',
    unknown.map(({ document_id, erasure_id, tombstone }) => ({
      ...{ document_id, erasure_id, tombstone },
      index_revision: ++revision,
      remains: null,
    })),
  )
  return documents
}

/** Expires the results of runs. The server then deletes their files. */
export async function expireRunResults(db: Kysely<Tables>, runIds: readonly string[], nowMs: number): Promise<void> {
  for (const some of idLists(runIds)) {
    const runs = db.updateTable('analysis_run').set({ expires_at: nowMs })
    await runs.where('run_id', 'in', some).where('expires_at', '>', nowMs).execute()
  }
}

interface Replayed {
  readonly erasureId: string
  readonly actor: string
  readonly createdAt: number
  readonly documents: number
  readonly again: number
}

/** Audits a replayed erasure, because its original audit entries were lost with the later state of the store. */
export const auditReplay = (
  db: Kysely<Tables>,
  { erasureId, actor, createdAt, documents, again }: Replayed,
  mark: AuditMark,
): Promise<void> => {
  const detail = { erasedBy: actor, erasedAt: formatTime(createdAt), documents, erasedAgain: again }
  return auditErasure(db, 'erasure.replay', erasureId, detail, mark)
}
