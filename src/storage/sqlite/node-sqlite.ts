import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely'
import { LRUCache } from 'lru-cache'
import { refusePipe, sqliteErrorKind } from '../full-disk.ts'
import type { Tables } from '../sql/tables.ts'

/** How long a write waits for another process that holds the file's write lock. */
const busyTimeoutMs = 10_000

/** The maximum number of prepared statements per connection. The store has fewer, so this is only a safeguard. */
const statementsKeptMax = 500

/**
 * Pages in the log before a checkpoint (16 MB). A batch of 500 documents exceeds SQLite's default of 4 MB, so every
 * commit would copy the same hot index pages again.
 */
const checkpointPages = 4000

/**
 * The page cache of a connection, large enough for the upper levels of every index. The operating system caches the
 * other pages, once for all connections.
 */
const cacheKb = 16_384

/**
 * The bytes of the file that readers map into memory: the maximum that SQLite allows. Reads are faster, because the
 * system copies no pages. The price: an I/O error ends the process (SIGBUS).
 */
const readerMapBytes = 2 ** 31 - 65_536

export interface SqliteConnection {
  readonly raw: DatabaseSync
  readonly db: Kysely<Tables>
}

/** WAL with synchronous FULL: a committed transaction is on disk. Readers never wait for the writer. */
export function openSqlite(path: string | URL, readOnly: boolean): SqliteConnection {
  refusePipe(path)
  const raw = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs })
  try {
    if (!readOnly) {
      raw.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
      // Overwrites deleted data, because erased data must not be readable in the file.
      raw.exec('pragma secure_delete = on')
      raw.exec(`pragma wal_autocheckpoint = ${checkpointPages}`)
    }
    if (readOnly) raw.exec(`pragma mmap_size = ${readerMapBytes}`)
    raw.exec(`pragma cache_size = -${cacheKb}; pragma temp_store = memory`)
  } catch (error) {
    // Closes the file, or the next check would report a damaged file as in use.
    raw.close()
    throw error
  }
  return queriesOn(raw)
}

export function queriesOn(raw: DatabaseSync): SqliteConnection {
  return { raw, db: new Kysely<Tables>({ dialect: new SqliteDialect({ database: asKyselyDatabase(raw) }) }) }
}

const sqliteBusy = 5

/** Another connection holds a conflicting lock. */
export const isBusy = (error: unknown): boolean => sqliteErrorKind(error) === sqliteBusy

/** The time between two attempts to get the write lock. */
const retryEveryMs = 1

const sleeping = new Int32Array(new SharedArrayBuffer(4))
const sleep = (): void => void Atomics.wait(sleeping, 0, 0, retryEveryMs)

/**
 * Begins a transaction with the write lock. SQLite itself retries ever more rarely, down to ten times a second, and
 * would hardly ever get the lock beside a process that writes one transaction after the other, as an import does. So
 * this function retries at a constant rate, for as long as SQLite would.
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
  const kept = new LRUCache<string, ReturnType<SqliteDatabase['prepare']>>({ max: statementsKeptMax })
  return {
    close: () => raw.close(),
    prepare(sql) {
      let statement = kept.get(sql)
      if (statement === undefined) {
        statement = asKyselyStatement(raw.prepare(sql))
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
 * Takes rows as arrays and makes objects of one shape from them, which is much faster than the objects that node:sqlite
 * makes.
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
 * Generates a function for each statement, with an object literal of its columns. One function for rows of every shape
 * would be several times as slow.
 */
function rowMaker(names: readonly string[]): (values: unknown) => Row {
  const columns = names.map((name, i) => `${JSON.stringify(name)}: values[${i}]`)
  return new Function('values', `return { ${columns.join()} }`) as (values: unknown) => Row
}
