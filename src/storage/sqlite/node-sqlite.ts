import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import type { SqliteDatabase } from 'kysely'
import { sqliteErrorKind } from '../full-disk.ts'
import { Kysely, SqliteDialect } from '../sql/kysely.ts'
import type { Tables } from '../sql/tables.ts'

/** How long a write waits for another process that holds the file's write lock. */
const busyTimeoutMs = 10_000

/** Statements kept prepared per connection; the store's queries are fewer, so this only bounds accidents. */
const statementsKeptMax = 500

/**
 * Pages in the log before they are copied into the file, 16 MB. A batch of 500 documents is more than SQLite's default
 * of 4 MB, so that every commit would copy the same hot pages of every index again.
 */
const checkpointPages = 4000

/**
 * Pages that a connection keeps in memory of its own: enough for the upper levels of every index. The rest the system
 * keeps, once for all connections.
 */
const cacheKb = 16_384

/**
 * Bytes of the file that readers see as memory, the most that SQLite takes: the texts of 20 results are read in half the
 * time, because no page has to be asked of the system and copied. The price: a disk that fails to read ends the process.
 */
const readerMapBytes = 2 ** 31 - 65_536

export interface SqliteConnection {
  readonly raw: DatabaseSync
  readonly db: Kysely<Tables>
}

/** WAL with synchronous FULL: a committed transaction is on disk. Readers never wait for the writer. */
export function openSqlite(path: string | URL, readOnly: boolean): SqliteConnection {
  const raw = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs })
  try {
    if (!readOnly) {
      raw.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
      // What is deleted is overwritten: what is erased must not be readable in the file.
      raw.exec('pragma secure_delete = on')
      raw.exec(`pragma wal_autocheckpoint = ${checkpointPages}`)
    }
    if (readOnly) raw.exec(`pragma mmap_size = ${readerMapBytes}`)
    raw.exec(`pragma cache_size = -${cacheKb}; pragma temp_store = memory`)
  } catch (error) {
    // Left open, a file that is damaged would be taken for one in use.
    raw.close()
    throw error
  }
  return queriesOn(raw)
}

export function queriesOn(raw: DatabaseSync): SqliteConnection {
  return { raw, db: new Kysely<Tables>({ dialect: new SqliteDialect({ database: asKyselyDatabase(raw) }) }) }
}

const sqliteBusy = 5

/** Another connection has a lock that is in the way. */
export const isBusy = (error: unknown): boolean => sqliteErrorKind(error) === sqliteBusy

/** Between two looks for the write lock. */
const lookAgainMs = 1

const asleep = new Int32Array(new SharedArrayBuffer(4))
const sleep = (): void => void Atomics.wait(asleep, 0, 0, lookAgainMs)

/**
 * Begins a transaction with the write lock. SQLite itself looks for the lock more and more rarely, down to ten times a
 * second: beside a process that writes one transaction after the other, as an import does, it meets hardly one of the
 * moments between two. So it is looked for all the time, for as long as SQLite would.
 */
export function beginWriting(raw: DatabaseSync, pause: () => void = sleep): void {
  const since = performance.now()
  raw.exec('pragma busy_timeout = 0')
  try {
    for (;;) {
      try {
        raw.exec('begin immediate')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() - since > busyTimeoutMs) throw error
      }
      pause()
    }
  } finally {
    raw.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
  }
}

function asKyselyDatabase(raw: DatabaseSync): SqliteDatabase {
  const kept = new Map<string, ReturnType<SqliteDatabase['prepare']>>()
  return {
    close: () => raw.close(),
    prepare(sql) {
      let statement = kept.get(sql)
      if (statement === undefined) {
        statement = asKyselyStatement(raw.prepare(sql))
        if (kept.size >= statementsKeptMax) kept.clear()
        kept.set(sql, statement)
      }
      return statement
    },
  }
}

type Parameters = Parameters_<StatementSync['all']>
type Parameters_<F> = F extends (...parameters: infer P) => unknown ? P : never
type Row = Record<string, SQLOutputValue>

/**
 * Rows are taken as lists and made into objects here: all of one shape, they are read several times as fast as those
 * that node:sqlite makes, and a page of the feed is ready in two thirds of the time.
 */
function asKyselyStatement(statement: StatementSync): ReturnType<SqliteDatabase['prepare']> {
  const names = statement.columns().map(({ name }) => name)
  statement.setReturnArrays(true)
  const asRow = rowMaker(names)
  return {
    reader: names.length > 0,
    all: (parameters) => statement.all(...(parameters as Parameters)).map(asRow),
    run: (parameters) => statement.run(...(parameters as Parameters)),
    *iterate(parameters) {
      for (const values of statement.iterate(...(parameters as Parameters))) yield asRow(values)
    },
  }
}

/**
 * Code of its own for each statement, a literal with its columns: 0.2 us for a row of 20. One function for all of them, which
 * sees rows of every shape, takes 1 to 2.
 */
function rowMaker(names: readonly string[]): (values: unknown) => Row {
  const columns = names.map((name, i) => `${JSON.stringify(name)}: values[${i}]`)
  return new Function('values', `return { ${columns.join()} }`) as (values: unknown) => Row
}
