import { DatabaseSync } from 'node:sqlite'
import { corpus, type ScopeName, scopes } from './corpus.ts'

/** The same corpus in SQLite FTS5, in memory, filters joined: what the segments are compared with. */
export class Fts5 {
  readonly #db = new DatabaseSync(':memory:')

  constructor(chunks: number) {
    this.#db.exec('create table chunk(id integer primary key, dataset int, language int)')
    this.#db.exec('create virtual table fts using fts5(title, body)')
    const insertChunk = this.#db.prepare('insert into chunk values (?, ?, ?)')
    const insertText = this.#db.prepare('insert into fts(rowid, title, body) values (?, ?, ?)')
    this.#db.exec('begin')
    let id = 0
    for (const { columns, title, chunks: parts } of corpus(chunks, false)) {
      for (const { body } of parts) {
        insertChunk.run(++id, Number(columns.datasetId.slice(1)), Number(columns.language!.slice(1)))
        insertText.run(id, title.terms.join(' '), body.terms.join(' '))
      }
    }
    this.#db.exec("commit; insert into fts(fts) values('optimize')")
    this.#db.exec("insert into fts(fts, rank) values('rank', 'bm25(3.0, 1.0)')")
  }

  /** `rank` is FTS5's usual form and scores every match; `bm25` scores what the filter let through. */
  search(match: string, scope: ScopeName, order: 'rank' | 'bm25(fts, 3.0, 1.0)'): number {
    const [datasets, languages] = scopes[scope]
    const sql = `select fts.rowid from fts join chunk on chunk.id = fts.rowid
      where fts match ? and dataset < ${datasets} and language < ${languages}
      order by ${order} limit 20`
    return this.#db.prepare(sql).all(match).length
  }

  close(): void {
    this.#db.close()
  }
}
