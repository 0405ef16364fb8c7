import { existsSync } from 'node:fs'
import type { Kysely } from 'kysely'
import { formatTime } from '../../time.ts'
import { forgetEvents, hideDocuments, removeRemains } from '../sql/erase-documents.ts'
import { audit } from '../sql/erasure-store.ts'
import { lastRevision } from '../sql/index-revisions.ts'
import { insertRows } from '../sql/insert-rows.ts'
import type { ErasedDocumentRow, Tables } from '../sql/tables.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'

const portion = 200

/**
 * A backup is of an earlier time, and what was erased since must not come back with it. Erases in the restored store what
 * the one at `replaced` knows to be erased, takes over what may not come in again, and the jobs, each with a line of the audit
 * log: what that log said of them is gone with the store. Returns how many documents it erased: 0 where that store is not there or of another instance, null where it cannot be read to its end.
 */
export async function replayErasures(replaced: string, db: Kysely<Tables>, nowMs: number): Promise<number | null> {
  if (!existsSync(replaced)) return 0
  const { raw, db: known } = openSqlite(replaced, true)
  try {
    if (!(await sqliteMigrationDialect.hasTable(known, 'erased_document'))) return 0
    if ((await reading(instanceOf(known))) !== (await instanceOf(db))) return 0
    await takeOverKey(known, db)
    const jobs = await takeOverJobs(known, db, nowMs)
    const erasedAgain = new Map<string, number>()
    for (let after = ''; ; ) {
      const rows = await reading(
        known
          .selectFrom('erased_document')
          .selectAll()
          .where('document_id', '>', after)
          .orderBy('document_id')
          .limit(portion)
          .execute(),
      )
      for (const erasureId of await replay(db, rows, nowMs)) {
        erasedAgain.set(erasureId, (erasedAgain.get(erasureId) ?? 0) + 1)
      }
      if (rows.length < portion) break
      after = rows.at(-1)!.document_id
    }
    await forgetEvents(db, { after: 0, through: Number.MAX_SAFE_INTEGER }, null)
    for (const { erasure_id, actor, created_at, documents, isNew } of jobs) {
      const again = erasedAgain.get(erasure_id) ?? 0
      if (!isNew && again === 0) continue
      const detail = { erasedBy: actor, erasedAt: formatTime(created_at), documents, erasedAgain: again }
      await audit(db, 'erasure.replay', erasure_id, detail, { actor: 'restore', at: nowMs })
    }
    return erasedAgain.values().reduce((sum, count) => sum + count, 0)
  } catch (error) {
    // It is replaced all the same: a store beyond reading is what backups are for.
    if (error instanceof Unreadable) return null
    throw error
  } finally {
    raw.close()
  }
}

class Unreadable extends Error {}

async function reading<T>(read: Promise<T>): Promise<T> {
  return read.catch((cause: unknown) => {
    throw new Unreadable('the replaced store cannot be read', { cause })
  })
}

async function instanceOf(db: Kysely<Tables>): Promise<string | null> {
  const row = await db.selectFrom('audit').select('audit_id').orderBy('audit_id').limit(1).executeTakeFirst()
  return row?.audit_id ?? null
}

/** There is one for the whole life of an instance: a backup either has it, or is from before anything was erased. */
async function takeOverKey(known: Kysely<Tables>, db: Kysely<Tables>): Promise<void> {
  if ((await db.selectFrom('tombstone_key').select('one').executeTakeFirst()) !== undefined) return
  await insertRows(db, 'tombstone_key', await reading(known.selectFrom('tombstone_key').selectAll().execute()))
}

/** And the runs that they were to delete are over here too: the server deletes their files when it starts. */
async function takeOverJobs(known: Kysely<Tables>, db: Kysely<Tables>, nowMs: number) {
  const there = new Set((await db.selectFrom('erasure').select('erasure_id').execute()).map((row) => row.erasure_id))
  const jobs = await reading(known.selectFrom('erasure').selectAll().execute())
  await insertRows(
    db,
    'erasure',
    jobs.filter((job) => !there.has(job.erasure_id)),
  )
  const purged = jobs.filter((job) => job.purge_artifacts === 1)
  for (const runId of purged.flatMap((job): string[] => JSON.parse(job.artifact_run_ids))) {
    const runs = db.updateTable('analysis_run').set({ expires_at: nowMs })
    await runs.where('run_id', '=', runId).where('expires_at', '>', nowMs).execute()
  }
  return jobs.map((job) => ({ ...job, isNew: !there.has(job.erasure_id) }))
}

/** Returns of each document that was erased again the job that had erased it. */
async function replay(db: Kysely<Tables>, rows: readonly ErasedDocumentRow[], nowMs: number): Promise<string[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.document_id)
  const there = await db.selectFrom('erased_document').selectAll().where('document_id', 'in', ids).execute()
  const before = new Map(there.map((row) => [row.document_id, row]))
  const documents = await db.selectFrom('document').selectAll().where('document_id', 'in', ids).execute()
  for (const row of rows) {
    const document = documents.find((one) => one.document_id === row.document_id)
    const of = { erasureId: row.erasure_id, keepTombstones: row.tombstone !== null }
    if (document !== undefined) await hideDocuments(db, [document], of, nowMs)
    else if (!before.has(row.document_id)) {
      const index_revision = (await lastRevision(db)) + 1
      await insertRows(db, 'erased_document', [{ ...row, index_revision, remains: null }])
    } else if (before.get(row.document_id)!.tombstone !== row.tombstone) {
      // It was lifted since.
      await db
        .updateTable('erased_document')
        .set({ tombstone: row.tombstone })
        .where('document_id', '=', row.document_id)
        .execute()
    }
  }
  await removeRemains(
    db,
    documents.map((row) => row.document_id),
  )
  const again = new Set(documents.map((row) => row.document_id))
  return rows.flatMap((row) => (again.has(row.document_id) ? row.erasure_id : []))
}
