import { Client } from 'pg'
import { documentOf } from './copied-document.ts'
import {
  ConcurrentMirrorError,
  type CopiedDocument,
  type Copy,
  type CopyPosition,
  columnNames,
  columns,
  type SavedStep,
} from './copy.ts'

const types = { text: 'text', time: 'timestamptz', json: 'jsonb', number: 'double precision' } as const
const connectsWithinMs = 10_000

/**
 * A copy in the tables `document` and `place` of the schema tidemark_mirror. It touches nothing else in the database.
 */
export class PostgresCopy implements Copy {
  readonly changesAtOnce = 200
  readonly #client: Client
  #revision = 0

  private constructor(client: Client) {
    this.#client = client
  }

  static async open(url: string): Promise<PostgresCopy> {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectsWithinMs,
      keepAlive: true,
      application_name: 'tidemark mirror',
    })
    // The next query reports a connection that breaks while idle.
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query("set timezone = 'UTC'")
      await client.query(`begin; select pg_advisory_xact_lock(7235541); ${tables}; commit`)
    } catch (error) {
      await client.end().catch(() => {})
      throw new Error(`the database of the copy: ${(error as Error).message}`, { cause: error })
    }
    const copy = new PostgresCopy(client)
    const { rows } = await client.query('select revision from tidemark_mirror.place')
    copy.#revision = rows[0]?.revision ?? 0
    return copy
  }

  async position(): Promise<CopyPosition | null> {
    const { rows } = await this.#client.query('select place from tidemark_mirror.place')
    return rows[0]?.place ?? null
  }

  async save({ documents, gone, covers, position }: SavedStep): Promise<void> {
    const client = this.#client
    await client.query('begin')
    try {
      const { rowCount } = await client.query(
        `insert into tidemark_mirror.place (one, revision, place) values (1, $1 + 1, $2)
         on conflict (one) do update set revision = excluded.revision, place = excluded.place where place.revision = $1`,
        [this.#revision, JSON.stringify(position)],
      )
      if (rowCount === 0) throw new ConcurrentMirrorError()
      if (covers !== undefined) {
        await client.query(
          'delete from tidemark_mirror.document where id > $1 and ($2::text is null or id <= $2::text collate "C")',
          [covers.after, covers.through],
        )
      }
      if (gone.length > 0) await client.query('delete from tidemark_mirror.document where id = any($1)', [gone])
      if (documents.length > 0) await client.query(putDocuments, valuesOf(documents))
      await client.query('commit')
    } catch (error) {
      await client.query('rollback').catch(() => {})
      throw error
    }
    this.#revision++
  }

  async after(id: string, most: number): Promise<readonly CopiedDocument[]> {
    return this.#select('where id > $1 order by id limit $2', [id, most])
  }

  async read(ids: readonly string[]): Promise<readonly CopiedDocument[]> {
    return this.#select('where id = any($1)', [ids])
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  async #select(which: string, values: unknown[]): Promise<readonly CopiedDocument[]> {
    const { rows } = await this.#client.query(
      `select ${columnNames.join()} from tidemark_mirror.document ${which}`,
      values,
    )
    return rows.map((row: Record<string, unknown>) => documentOf((name) => row[name]))
  }
}

/** Adds missing columns to a copy that an older version created. */
const tables = `
  create schema if not exists tidemark_mirror;
  create table if not exists tidemark_mirror.document (
    ${columnNames.map((name) => `${name} ${types[columns[name]]}${name === 'id' ? ' collate "C" primary key' : ''}`).join()}
  );
  ${columnNames.map((name) => `alter table tidemark_mirror.document add column if not exists ${name} ${types[columns[name]]};`).join('')}
  create table if not exists tidemark_mirror.place (
    one integer primary key check (one = 1), revision integer not null, place json not null
  )`

/** One array per column. */
const putDocuments = `
  insert into tidemark_mirror.document (${columnNames.join()})
  select * from unnest(${columnNames.map((name, i) => `$${i + 1}::${types[columns[name]]}[]`).join()})
  on conflict (id) do update set ${columnNames.map((name) => `${name} = excluded.${name}`).join()}`

const valuesOf = (documents: readonly CopiedDocument[]): unknown[][] =>
  columnNames.map((name) => documents.map((one) => one[name]))
