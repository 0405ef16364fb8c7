import { existsSync } from 'node:fs'
import type { Kysely } from 'kysely'
import { forgetEvents, removeRemains } from '../sql/erase-documents.ts'
import { insertRows } from '../sql/insert-rows.ts'
import { auditReplay, expireRunResults, hideAgain, takeOverSecret } from '../sql/replay-erasure.ts'
import type { ErasedDocumentRow, Tables } from '../sql/tables.ts'
import { tombstoneSecret } from '../sql/tombstones.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'

const portion = 200

/**
 * Repeats erasures made since a backup, so that erased data does not return with it. Erases in the restored store the
 * documents that the store at `replaced` has erased, and takes over the tombstones and the jobs. Each job gets an entry
 * in the audit log, because the earlier entries are lost with the store.
 *
 * Returns the number of erased documents: 0 if that store is missing or of another instance, null if it cannot be read
 * to its end.
 */
export async function replayErasures(replaced: string, db: Kysely<Tables>, nowMs: number): Promise<number | null> {
  if (!existsSync(replaced)) return 0
  const { raw, db: known } = openSqlite(replaced, true)
  try {
    if (!(await sqliteMigrationDialect.hasTable(known, 'erased_document'))) return 0
    if ((await reading(instanceOf(known))) !== (await instanceOf(db))) return 0
    await takeOverSecret(db, await reading(tombstoneSecret(known)))
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
      const replayed = { erasureId: erasure_id, actor, createdAt: created_at, documents, again }
      await auditReplay(db, replayed, { actor: 'restore', at: nowMs })
    }
    return erasedAgain.values().reduce((sum, count) => sum + count, 0)
  } catch (error) {
    // Not an error, because a backup is often restored to replace an unreadable store.
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

export async function instanceOf(db: Kysely<Tables>): Promise<string | null> {
  const row = await db.selectFrom('audit').select('audit_id').orderBy('audit_id').limit(1).executeTakeFirst()
  return row?.audit_id ?? null
}

/** Also expires the results of runs that the jobs delete. The server removes their files when it starts. */
async function takeOverJobs(known: Kysely<Tables>, db: Kysely<Tables>, nowMs: number) {
  const there = new Set((await db.selectFrom('erasure').select('erasure_id').execute()).map((row) => row.erasure_id))
  const jobs = await reading(known.selectFrom('erasure').selectAll().execute())
  await insertRows(
    db,
    'erasure',
    jobs.filter((job) => !there.has(job.erasure_id)),
  )
  const purged = jobs.filter((job) => job.purge_artifacts === 1)
  await expireRunResults(
    db,
    purged.flatMap((job): string[] => JSON.parse(job.artifact_run_ids)),
    nowMs,
  )
  return jobs.map((job) => ({ ...job, isNew: !there.has(job.erasure_id) }))
}

/** Returns the job of each document that was erased again. */
async function replay(db: Kysely<Tables>, rows: readonly ErasedDocumentRow[], nowMs: number): Promise<string[]> {
  if (rows.length === 0) return []
  const documents = await hideAgain(
    db,
    rows.map((row) => ({ ...row, keepTombstone: row.tombstone !== null })),
    nowMs,
  )
  await removeRemains(
    db,
    documents.map((row) => row.document_id),
  )
  const again = new Set(documents.map((row) => row.document_id))
  // A tombstone may have been lifted since the backup. The replaced store decides.
  const others = new Map(
    rows.filter((row) => !again.has(row.document_id)).map((row) => [row.document_id, row.tombstone]),
  )
  const known = db.selectFrom('erased_document').select(['document_id', 'tombstone'])
  for (const { document_id, tombstone } of await known.where('document_id', 'in', [...others.keys()]).execute()) {
    if (tombstone === others.get(document_id)) continue
    const one = db.updateTable('erased_document').set({ tombstone: others.get(document_id)! })
    await one.where('document_id', '=', document_id).execute()
  }
  return rows.flatMap((row) => (again.has(row.document_id) ? row.erasure_id : []))
}
