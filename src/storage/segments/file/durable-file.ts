import { statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { type BlobRow, mapBytesMax, piecesMax } from './blob-reader.ts'
import { asDamage, checkedBytes, checkedJson, DamagedFile } from './damage.ts'

/**
 * The durable form of the index: one SQLite file (WAL, synchronous FULL) that only the writer changes. It is derived
 * from the store and can be rebuilt. Everything in it has a checksum, and any inconsistency throws `DamagedFile`.
 *
 * Large values (segment data, vector columns) are blobs in pieces, which `blob-reader.ts` reads. They are written in
 * advance, in small transactions, so that a merge does not delay a batch, and count only when a `segment` row names
 * their blob. A blob that no row names is left over from a crash, and is removed when the file is opened.
 */
export interface FileState {
  /** The rules of text analysis that made the terms; other rules need a rebuild. */
  analysis: string
  /** The position in the change feed. */
  position: number
  nextKey: number
  nextBlob: number
  nextSegment: number
  /** Order-independent digests of the tables `death` (keys of deleted chunks) and `late_vector`. */
  deaths: string
  lateVectors: string
  /** The same for the rows of `class`, `profile` and `segment`; absent in an older file. */
  rows?: string
  /** Data retired up to this position has left no trace; absent before the first purge. */
  purgedThrough?: number
  /** Deleted data was always overwritten; absent in an older file. */
  overwritten?: true
}

export interface SegmentRow {
  readonly id: number
  /** Small segments, one for each batch, are joined when the file is opened. */
  readonly sealed: boolean
  readonly chunks: number
  /** The blob of the segment data. */
  readonly image: BlobRow
  readonly columns: readonly (BlobRow & { readonly profile: number; readonly dimensions: number })[]
}

const fileFormat = 6

/** How long truncating the log waits for threads that are reading a vector. */
const lockWaitDefaultMs = 2000

/**
 * The size of a piece. The C library can reuse the memory of one piece for the next. Earlier versions wrote pieces of
 * 4 MB.
 */
const pieceBytes = 480 * 1024
const piecesOfStep = 8

/** The row id of a chunk's vector in a profile: a single number, so that a row is found without an index. */
export const vectorId = (profile: number, vectorKey: number): number => profile * 2 ** 32 + vectorKey

const schema = `
  create table if not exists state(id integer primary key, data text, crc integer);
  create table if not exists term(first integer primary key, count integer, data blob, crc integer);
  create table if not exists class(id integer primary key, data text, crc integer);
  create table if not exists profile(id integer primary key, data text, crc integer);
  create table if not exists segment(id integer primary key, data text, crc integer);
  create table if not exists piece(id integer primary key, data blob, crc integer);
  create table if not exists death(id integer primary key);
  create table if not exists late_vector(id integer primary key);
  create table if not exists vector(id integer primary key, data blob);
`

type NumberTable = 'death' | 'late_vector'
const jsonTables = ['class', 'profile', 'segment'] as const
type JsonTable = (typeof jsonTables)[number]

export class DurableFile {
  readonly path: string
  readonly state: FileState
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string, analysis: string, lockWaitMs = lockWaitDefaultMs) {
    this.path = path
    this.#db = new DatabaseSync(path, { timeout: lockWaitMs })
    try {
      this.#db.exec('pragma page_size = 16384; pragma journal_mode = wal; pragma synchronous = full')
      this.#db.exec('pragma secure_delete = on; pragma cache_size = -4096; pragma journal_size_limit = 67108864')
      this.#db.exec(schema)
      this.state = this.#readState(analysis)
      this.state.rows = this.#checkedRows()
    } catch (error) {
      this.#db.close()
      throw asDamage(error, this.path)
    }
  }

  get bytes(): number {
    return ['', '-wal'].reduce((sum, end) => sum + (statSync(this.path + end, { throwIfNoEntry: false })?.size ?? 0), 0)
  }

  /** Applies all changes or none. Every transaction also writes the state row. */
  transaction(change: () => void): void {
    const before = { ...this.state }
    this.#run('begin immediate')
    try {
      change()
      const data = JSON.stringify({ format: fileFormat, ...this.state })
      this.#run('insert or replace into state values (1, ?, ?)', data, crc32(data))
      this.#run('commit')
    } catch (error) {
      Object.assign(this.state, before)
      if (this.#db.isTransaction) this.#run('rollback')
      throw error
    }
  }

  putJson(table: JsonTable, id: number, value: unknown): void {
    const data = JSON.stringify(value)
    const isNew = this.#statement(`select 1 from ${table} where id = ?`).get(id) === undefined
    this.#run(`insert or replace into ${table} values (?, ?, ?)`, id, data, crc32(data))
    if (isNew) this.#toggleRow(table, id)
  }

  remove(table: JsonTable, id: number): void {
    if (this.#run(`delete from ${table} where id = ?`, id) > 0) this.#toggleRow(table, id)
  }

  /** Ascending by id. */
  readJson<T>(table: JsonTable): T[] {
    return this.#reading(() =>
      this.#db
        .prepare(`select data, crc from ${table} order by id`)
        .all()
        .map(({ data, crc }) => checkedJson<T>(table, data, crc)),
    )
  }

  addTerms(first: number, count: number, data: Uint8Array): void {
    this.#run('insert into term values (?, ?, ?, ?)', first, count, data, crc32(data))
  }

  /** The blocks of terms with their texts, in order. */
  *readTerms(): Generator<{ first: number; count: number; data: Uint8Array }> {
    for (const row of this.#db.prepare('select * from term order by first').iterate()) {
      yield {
        first: Number(row.first),
        count: Number(row.count),
        data: checkedBytes('term', row.data, row.crc),
      }
    }
  }

  /** The blocks of terms without their texts, in order. */
  termBlocks(): { readonly first: number; readonly count: number }[] {
    const rows = this.#db.prepare('select first, count from term order by first').all()
    return rows.map((row) => ({ first: Number(row.first), count: Number(row.count) }))
  }

  replaceTerms(first: number, data: Uint8Array): void {
    this.#run('update term set data = ?, crc = ? where first = ?', data, crc32(data), first)
  }

  newBlob(): number {
    return this.state.nextBlob++
  }

  /** Each step writes some megabytes inside a transaction of the caller. */
  *writeBlob(blob: number, data: Uint8Array): Generator<void> {
    const pieces = Math.ceil(data.length / pieceBytes)
    if (pieces > piecesMax) throw new RangeError('blob over 1.8 GB')
    for (let i = 0; i < pieces; i++) {
      const piece = data.subarray(i * pieceBytes, (i + 1) * pieceBytes)
      this.#run('insert into piece values (?, ?, ?)', blob * piecesMax + i, piece, crc32(piece))
      if (i % piecesOfStep === piecesOfStep - 1) yield
    }
  }

  /** Removes some megabytes at each call, inside the caller's transaction; returns false when nothing is left. */
  removePieces(blob: number): boolean {
    const sql = `delete from piece where id in (select id from piece where id between ? and ? limit ${piecesOfStep})`
    return this.#run(sql, blob * piecesMax, blob * piecesMax + piecesMax - 1) > 0
  }

  removeBlob(blob: number): void {
    this.#run('delete from piece where id between ? and ?', blob * piecesMax, blob * piecesMax + piecesMax - 1)
  }

  blobs(): number[] {
    return this.#reading(() =>
      this.#db
        .prepare(`select distinct id / ${piecesMax} as blob from piece`)
        .all()
        .map((row) => Number(row.blob)),
    )
  }

  addNumber(table: NumberTable, id: number): void {
    if (this.#run(`insert or ignore into ${table} values (?)`, id) > 0) this.#toggleDigest(table, id)
  }

  removeNumber(table: NumberTable, id: number): void {
    if (this.#run(`delete from ${table} where id = ?`, id) > 0) this.#toggleDigest(table, id)
  }

  readNumbers(table: NumberTable): number[] {
    return this.#reading(() => {
      const numbers = this.#db
        .prepare(`select id from ${table} order by id`)
        .all()
        .map((row) => Number(row.id))
      const digest = numbers.reduce(toggled, emptyDigest)
      if (digest !== this.state[digestOf[table]]) throw new DamagedFile(`table ${table} does not match its digest`)
      return numbers
    })
  }

  putVector(id: number, floats: Float32Array): void {
    this.#run('insert or replace into vector values (?, ?)', id, packVector(floats))
  }

  removeVector(id: number): void {
    this.#run('delete from vector where id = ?', id)
  }

  readVector(id: number): Float32Array | null {
    return unpackVector(this.#statement('select data from vector where id = ?').get(id)?.data)
  }

  checkpoint(): void {
    this.#db.exec('pragma wal_checkpoint(truncate)')
  }

  /**
   * Makes sure that deleted data is neither in the file nor in its log. `through` is the position of the index up to
   * which retired data is gone.
   */
  purgeDeleted(through: number): void {
    if (this.state.overwritten !== true) this.#db.exec('vacuum')
    this.transaction(() => {
      this.state.overwritten = true
      this.state.purgedThrough = through
    })
    const row = this.#db.prepare('pragma wal_checkpoint(truncate)').get()
    if (row?.busy !== 0) throw new Error('the log of the index is in use and will be truncated later')
  }

  close(): void {
    this.#db.close()
  }

  #toggleDigest(table: NumberTable, id: number): void {
    const name = digestOf[table]
    this.state[name] = toggled(this.state[name], id)
  }

  #toggleRow(table: JsonTable, id: number): void {
    this.state.rows = toggled(this.state.rows!, rowNumber(table, id))
  }

  /**
   * The checksums of single rows do not reveal a missing row. Without this digest, searches would silently miss the
   * documents of a missing segment.
   */
  #checkedRows(): string {
    const numbers = jsonTables.flatMap((table) =>
      this.#db
        .prepare(`select id from ${table}`)
        .all()
        .map(({ id }) => rowNumber(table, Number(id))),
    )
    const digest = numbers.reduce(toggled, emptyDigest)
    if (digest !== (this.state.rows ?? digest)) throw new DamagedFile('rows are missing')
    return digest
  }

  #readState(analysis: string): FileState {
    const row = this.#db.prepare('select data, crc from state where id = 1').get()
    if (row === undefined) {
      const digests = { deaths: emptyDigest, lateVectors: emptyDigest }
      return { analysis, position: 0, nextKey: 1, nextBlob: 1, nextSegment: 1, ...digests, overwritten: true }
    }
    const { format, ...state } = checkedJson<FileState & { format: number }>('state', row.data, row.crc)
    if (format !== fileFormat) throw new DamagedFile(`file format ${format}, this program reads ${fileFormat}`)
    if (state.analysis !== analysis)
      throw new DamagedFile(`the terms are of rules ${state.analysis}, this program uses ${analysis}`)
    return state
  }

  #reading<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw asDamage(error, this.path)
    }
  }

  #run(sql: string, ...values: (string | number | Uint8Array)[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** The connection of a search thread, which only reads the floats of single vectors. */
export class VectorReader {
  readonly #db: DatabaseSync
  readonly #read: StatementSync

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true })
    // The cache holds the inner pages above a few million vectors; with a smaller one, each read fetches one again. A
    // mapped file reads a vector in place; otherwise each read would copy the whole page, which is ten times as long.
    this.#db.exec(`pragma cache_size = -4096; pragma mmap_size = ${mapBytesMax}`)
    this.#read = this.#db.prepare('select data from vector where id = ?')
    this.#read.setReturnArrays(true)
  }

  /**
   * Returns one vector for each id, `null` if it is missing or damaged. Uses one transaction, because starting one
   * takes as long as a read.
   */
  read(ids: readonly number[]): (Float32Array | null)[] {
    this.#db.exec('begin')
    try {
      return ids.map((id) => unpackVector((this.#read.get(id) as unknown as [unknown] | undefined)?.[0]))
    } finally {
      this.#db.exec('commit')
    }
  }

  close(): void {
    this.#db.close()
  }
}

const digestOf = { death: 'deaths', late_vector: 'lateVectors' } as const
const emptyDigest = '0:0'

const rowNumber = (table: JsonTable, id: number): number => jsonTables.indexOf(table) * 2 ** 32 + id

/** Combines hashed numbers by exclusive or, so that adding and removing a number is the same operation. */
function toggled(digest: string, id: number): string {
  const [low, high] = digest.split(':').map(Number) as [number, number]
  const mixedLow = Math.imul((id >>> 0) ^ 0x9e3779b9, 0x85ebca6b) >>> 0
  const mixedHigh = Math.imul(Math.floor(id / 2 ** 32) ^ mixedLow, 0xc2b2ae35) >>> 0
  return `${(low ^ mixedLow) >>> 0}:${(high ^ mixedHigh) >>> 0}`
}

function packVector(floats: Float32Array): Uint8Array {
  const data = new Uint8Array(floats.byteLength + 4)
  data.set(new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength))
  new DataView(data.buffer).setUint32(floats.byteLength, crc32(data.subarray(0, floats.byteLength)), true)
  return data as Uint8Array<ArrayBuffer>
}

function unpackVector(data: unknown): Float32Array | null {
  if (!(data instanceof Uint8Array) || data.length < 8 || data.length % 4 !== 0) return null
  const end = data.length - 4
  const crc = new DataView(data.buffer, data.byteOffset).getUint32(end, true)
  if (crc32(data.subarray(0, end)) !== crc) return null
  const isAligned = data.byteOffset % 4 === 0
  return isAligned
    ? new Float32Array(data.buffer, data.byteOffset, end / 4)
    : new Float32Array(data.slice(0, end).buffer)
}
