import { rm } from 'node:fs/promises'
import { backup, DatabaseSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import { BackupError, type Report } from '../../operator/backup-manifest.ts'
import type { StoreCopy } from '../../operator/make-backup.ts'
import { isThere } from '../../platform/is-there.ts'
import { sqliteErrorKind } from '../full-disk.ts'
import { newestMigration, readSchema, refuseTooNew } from '../sql/migrate.ts'
import type { Tables } from '../sql/tables.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { isBusy, openSqlite } from './node-sqlite.ts'

/** Pages that are copied between two reports: 4 MB. */
const pagesAtOnce = 1000

const counted = [
  'dataset',
  'application',
  'collector',
  'api_key',
  'document',
  'document_version',
  'event',
  'chunk',
  'analysis_run',
  'analysis_artifact',
] as const satisfies readonly (keyof Tables)[]

/**
 * Copies the store at `from` into the new file `to`. A read transaction holds one snapshot of its pages. Without the
 * transaction, SQLite would start over whenever another process writes, and never finish under steady writes. Writes
 * continue meanwhile, and the write-ahead log grows, because it is not checkpointed. VACUUM INTO also holds a snapshot,
 * but it is slower, because it rebuilds every table.
 */
export async function copyStore(from: string, to: string, now: number, report: Report): Promise<StoreCopy> {
  if (!isThere(from)) throw new BackupError(`there is no store at ${from}: set TIDEMARK_DATA_DIR to a data folder`)
  const source = openSqlite(from, true)
  try {
    source.raw.exec('begin')
    // The first read takes the snapshot.
    const found = await readSchema(source.db, sqliteMigrationDialect)
    refuseTooNew(found)
    // A newer version may have applied harmless migrations. This version can restore such a store.
    const schema = Math.min(found.newest, newestMigration)
    const counts = await countRows(source.db)
    const pageBytes = numberOf(source.raw, 'page_size')
    await backup(source.raw, to, {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) =>
        report({
          step: 'copying the store',
          done: (totalPages - remainingPages) * pageBytes,
          total: totalPages * pageBytes,
        }),
    })
    source.raw.exec('commit')
    report({ step: 'checking the copy', done: 0, total: null })
    return { schema, counts, artifacts: await checkCopy(to, counts, now) }
  } finally {
    source.raw.close()
  }
}

/** Like the check of a copy, and also checks every foreign key, which can be slow. */
export async function examineStore(path: string, counts: Counts, now: number): Promise<StoreCopy['artifacts']> {
  const artifacts = await checkCopy(path, counts, now)
  const { raw } = openSqlite(path, true)
  try {
    const orphan = raw.prepare('pragma foreign_key_check').get()
    if (orphan !== undefined)
      throw new BackupError(`the store is damaged: a row of ${orphan.table} refers to a missing row`)
  } finally {
    raw.close()
  }
  return artifacts
}

type Counts = Readonly<Record<string, number>>

async function checkCopy(path: string, counts: Counts, now: number): Promise<StoreCopy['artifacts']> {
  const { raw, db } = openSqlite(path, false)
  try {
    // Leaves a single file, which can also be read on a read-only file system.
    raw.exec('pragma journal_mode = delete')
    const found = raw.prepare('pragma integrity_check(1)').get()?.integrity_check
    if (found !== 'ok') throw new BackupError(`the store is damaged (${found}): restore an earlier backup`)
    const copied = await countRows(db)
    for (const [table, rows] of Object.entries(counts)) {
      if (copied[table] !== rows) throw new BackupError(`the copy has ${copied[table]} rows in ${table}, not ${rows}`)
    }
    const rows = await db
      .selectFrom('analysis_artifact')
      .innerJoin('analysis_run', 'analysis_run.run_id', 'analysis_artifact.run_id')
      .select(['artifact_id', 'byte_count', 'sha256'])
      .where('expires_at', '>', now)
      .orderBy('artifact_id')
      .execute()
    return rows.map((row) => ({ artifactId: row.artifact_id, bytes: Number(row.byte_count), sha256: row.sha256 }))
  } finally {
    raw.close()
  }
}

/** Skips tables that an older schema does not have. */
async function countRows(db: Kysely<Tables>): Promise<Record<string, number>> {
  const there = new Set((await db.introspection.getTables()).map(({ name }) => name))
  const counts: Record<string, number> = {}
  for (const table of counted.filter((name) => there.has(name))) {
    const row = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    counts[table] = Number(row.rows)
  }
  return counts
}

function numberOf(raw: DatabaseSync, pragma: string): number {
  return Number(raw.prepare(`pragma ${pragma}`).get()?.[pragma])
}

const sqliteCorrupt = 11
const sqliteNotDatabase = 26

/**
 * Throws if another process has the store open, because then it cannot be locked exclusively. Checkpoints a leftover
 * write-ahead log, and changes nothing else. A damaged file, or one that is not a database, counts as not in use.
 */
export function refuseInUse(path: string): void {
  if (!isThere(path)) return
  const raw = new DatabaseSync(path)
  try {
    raw.exec('pragma locking_mode = exclusive; begin exclusive; rollback')
  } catch (error) {
    if (isBusy(error)) {
      throw new BackupError(
        `the store at ${path} is in use: stop the server and every command that works on it, then try again`,
      )
    }
    if (![sqliteCorrupt, sqliteNotDatabase].includes(sqliteErrorKind(error))) throw error
  } finally {
    raw.close()
  }
}

/** Removes a leftover log, because SQLite would apply it to the store that replaces this one. */
export async function removeStoreLog(path: string): Promise<void> {
  for (const end of ['-wal', '-shm', '-journal']) await rm(path + end, { force: true })
}
