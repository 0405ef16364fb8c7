import { existsSync, statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import {
  ConcurrentMirrorError,
  type CopiedDocument,
  type Copy,
  type CopyPosition,
  columnNames,
  columns,
  type SavedStep,
} from './copy.ts'

/** The application id in the header of the file: "Tide". A file without it belongs to another program. */
const applicationId = 0x54696465
const busyTimeoutMs = 10_000

const types = { text: 'text', time: 'text', json: 'text', number: 'real' } as const

/** A copy in the tables `document` and `place` of a SQLite file. Other processes may read the file at any time. */
export class SqliteCopy implements Copy {
  readonly changesAtOnce = 200
  readonly #db: DatabaseSync
  #revision: number

  constructor(path: string) {
    const isThere = existsSync(path) && statSync(path).size > 0
    this.#db = new DatabaseSync(path, { timeout: busyTimeoutMs })
    try {
      if (isThere && this.#pragma('application_id') !== applicationId) throw new Error('it holds other data')
      this.#db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on')
      this.#db.exec(`begin immediate; pragma application_id = ${applicationId}; ${tables}`)
      this.#addColumns()
      this.#db.exec('commit')
    } catch (error) {
      this.#db.close()
      throw new Error(`${path} cannot be a copy: ${(error as Error).message}`, { cause: error })
    }
    this.#revision = Number(this.#db.prepare('select revision from place').get()?.revision ?? 0)
  }

  async position(): Promise<CopyPosition | null> {
    const row = this.#db.prepare('select place from place').get()
    return row === undefined ? null : JSON.parse(String(row.place))
  }

  async save({ documents, gone, covers, position }: SavedStep): Promise<void> {
    const db = this.#db
    db.exec('begin immediate')
    try {
      const moved = db
        .prepare('update place set place = ?, revision = revision + 1 where revision = ?')
        .run(JSON.stringify(position), this.#revision)
      if (moved.changes === 0) {
        if (this.#revision > 0 || db.prepare('select 1 from place').get() !== undefined)
          throw new ConcurrentMirrorError()
        db.prepare('insert into place (one, revision, place) values (1, 1, ?)').run(JSON.stringify(position))
      }
      if (covers !== undefined) {
        const upTo = covers.through === null ? '' : 'and id <= ?'
        const bounds = covers.through === null ? [covers.after] : [covers.after, covers.through]
        db.prepare(`delete from document where id > ? ${upTo}`).run(...bounds)
      }
      const remove = db.prepare('delete from document where id = ?')
      for (const id of gone) remove.run(id)
      const put = db.prepare(
        `insert or replace into document (${columnNames.join()}) values (${columnNames.map(() => '?').join()})`,
      )
      for (const one of documents) put.run(...columnNames.map((name) => one[name] as SQLInputValue))
      db.exec('commit')
    } catch (error) {
      if (db.isTransaction) db.exec('rollback')
      throw error
    }
    this.#revision++
    // `secure_delete` overwrites deleted rows in the file. The checkpoint also removes them from the write-ahead log.
    if (gone.length > 0) db.exec('pragma wal_checkpoint(truncate)')
  }

  async after(id: string, most: number): Promise<readonly CopiedDocument[]> {
    return this.#select('where id > ? order by id limit ?', id, most)
  }

  async read(ids: readonly string[]): Promise<readonly CopiedDocument[]> {
    return this.#select('where id in (select value from json_each(?))', JSON.stringify(ids))
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  #select(which: string, ...values: SQLInputValue[]): readonly CopiedDocument[] {
    const rows = this.#db.prepare(`select ${columnNames.join()} from document ${which}`).all(...values)
    return rows as unknown as CopiedDocument[]
  }

  /** Adds missing columns to a copy that an older version created. */
  #addColumns(): void {
    const existing = new Set(
      this.#db
        .prepare("select name from pragma_table_info('document')")
        .all()
        .map(({ name }) => name),
    )
    for (const name of columnNames) {
      if (!existing.has(name)) this.#db.exec(`alter table document add column ${name} ${types[columns[name]]}`)
    }
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#db.prepare(`pragma ${name}`).get()!)[0])
  }
}

const tables = `
  create table if not exists document (
    ${columnNames.map((name) => `${name} ${types[columns[name]]}${name === 'id' ? ' primary key' : ''}`).join()}
  ) without rowid;
  create table if not exists place (one integer primary key check (one = 1), revision integer not null, place text not null)`
