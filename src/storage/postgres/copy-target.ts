import type pg from 'pg'
import {
  type CopiedRow,
  type CopiedTable,
  CopyError,
  type KeyRange,
  type TargetBlock,
} from '../../operator/copy-instance.ts'
import type { CopyTargetRequest, OpenCopyTarget } from '../backend.ts'
import { NewerStoreError } from '../open-store.ts'
import { migrate, newestMigration, readSchema } from '../sql/migrate.ts'
import { BinaryRows, digestExpression } from './binary-rows.ts'
import { connectAlone, queriesOn } from './connections.ts'
import { copyInto } from './copy-into.ts'
import { postgresMigrationDialect, TextByBytes } from './migration-dialect.ts'
import { asUnreachable, refuseOld, unfinishedCopy, withoutPassword } from './open-postgres-store.ts'
import { beginMigrating, copyCall } from './write-locks.ts'

/**
 * Writes do not wait for the disk, because the last commit flushes all of them. The range of a block is always read by
 * the key, even when the server has no statistics yet for a table that was just filled.
 */
const settings = `
  set statement_timeout = 0;
  set idle_in_transaction_session_timeout = 0;
  set synchronous_commit = off;
  set enable_seqscan = off`

interface TargetTable extends CopiedTable {
  /** Type numbers of the columns. */
  readonly types: readonly number[]
  /** The column whose values the database generates; null if there is none. */
  readonly ascending: string | null
}

/**
 * `tables` are those of the source, and `instance` identifies its data. A target that is only compared is not changed.
 */
export async function openCopyTarget(
  url: string,
  { tables, instance, writes }: CopyTargetRequest,
): Promise<OpenCopyTarget> {
  const client = await connectAlone(url).catch((error: unknown) => {
    throw asUnreachable(url, error)
  })
  try {
    await client.query(settings)
    await refuseOld(client)
    if (!(await client.query(copyCall)).rows[0].taken) throw new CopyError('another copy into this database is running')
    if (writes) await prepare(client, url, instance)
    else await refuseOther(client, url, instance)
    const described = await describe(client, tables)
    return {
      tables: described,
      block: (table, rows, range) => new Block(client, table as TargetTable, rows, range),
      complete: (lastNumber) => complete(client, described, lastNumber),
      close: () => client.end(),
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

/**
 * Creates the tables and the mark of an unfinished copy in one transaction, so that partial data always has the mark.
 */
async function prepare(client: pg.Client, url: string, instance: string | null): Promise<void> {
  const db = queriesOn(client)
  await client.query(beginMigrating)
  try {
    const unfinished = await markOf(client)
    if (unfinished !== null && unfinished.instance !== instance) {
      throw new CopyError(
        `the database ${withoutPassword(url)} has an unfinished copy of another instance: use an empty database`,
      )
    }
    const { newest } = await readSchema(db, postgresMigrationDialect)
    if (newest > newestMigration) throw new NewerStoreError(newest, newestMigration)
    if (unfinished === null && newest > 0) await refuseUsed(client, url, instance)
    await migrate(db.withPlugin(new TextByBytes()), postgresMigrationDialect, Date.now())
    if (unfinished === null) {
      await client.query(`create table ${unfinishedCopy} (instance text)`)
      await client.query(`insert into ${unfinishedCopy} values ($1)`, [instance])
    }
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

async function markOf(client: pg.Client): Promise<{ readonly instance: string | null } | null> {
  const there = (await client.query('select to_regclass($1) is not null as there', [unfinishedCopy])).rows[0].there
  return there ? (await client.query(`select instance from ${unfinishedCopy}`)).rows[0] : null
}

/** A database is unused if it has no audit entry and no key that signs cursors, which serving it creates. */
async function refuseUsed(client: pg.Client, url: string, instance: string | null): Promise<void> {
  const { first, keys } = (
    await client.query('select (select min(audit_id) from audit) as first, exists(select from signing_key) as keys')
  ).rows[0]
  if (first === null && !keys) return
  const database = `the database ${withoutPassword(url)}`
  throw new CopyError(
    first === instance
      ? `${database} already has a complete copy of this instance: serve it, or compare with --verify; to copy again, use an empty database`
      : `${database} has another instance: use an empty database`,
  )
}

async function refuseOther(client: pg.Client, url: string, instance: string | null): Promise<void> {
  const has = (await readSchema(queriesOn(client), postgresMigrationDialect)).newest > 0
  const unfinished = has ? await markOf(client) : null
  const found =
    unfinished?.instance ??
    (has ? (await client.query('select min(audit_id) as first from audit')).rows[0].first : null)
  if (!has || found !== instance) {
    throw new CopyError(`the database ${withoutPassword(url)} has no copy of this instance: make one without --verify`)
  }
}

/** Leaves out unlogged tables, and the lists of applied migrations, which both sides have. */
async function describe(client: pg.Client, names: readonly string[]): Promise<readonly TargetTable[]> {
  const { rows } = await client.query(
    `select name, columns.names as columns, columns.types, key.names as key, columns.ascending
     from unnest($1::text[]) as name
     join pg_class c on c.oid = to_regclass(name)
     cross join lateral (
       select json_agg(attname order by attnum) as names, json_agg(atttypid::int order by attnum) as types,
         min(attname) filter (where attidentity <> '') as ascending
       from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
     ) as columns
     cross join lateral (
       select json_agg(attname order by place) as names
       from pg_index, unnest(indkey::int2[]) with ordinality as k(number, place), pg_attribute
       where indrelid = c.oid and indisprimary and attrelid = c.oid and attnum = number
     ) as key
     where relpersistence = 'p' and name not in ('schema_migration', 'harmless_migration')
     order by exists(select from pg_constraint where conrelid = c.oid and contype = 'f'), name`,
    [names],
  )
  return rows
}

async function complete(
  client: pg.Client,
  tables: readonly TargetTable[],
  lastNumber: (table: string) => number,
): Promise<void> {
  await client.query(`analyze ${quoted(tables.map(({ name }) => name))}`)
  await client.query('begin; set local synchronous_commit = on')
  for (const { name, ascending } of tables) {
    if (ascending === null) continue
    const last = lastNumber(name)
    const sequence = 'pg_get_serial_sequence($1, $2)'
    await client.query(`select setval(${sequence}, $3, $4)`, [name, ascending, Math.max(1, last), last > 0])
  }
  await client.query(`drop table ${unfinishedCopy}`)
  await client.query('commit')
}

class Block implements TargetBlock {
  #client: pg.Client
  #table: TargetTable
  #rows: readonly CopiedRow[]
  #digest: Buffer
  #condition: string
  #bounds: readonly unknown[]
  #found = 0

  constructor(client: pg.Client, table: TargetTable, rows: readonly CopiedRow[], { after, through }: KeyRange) {
    this.#client = client
    this.#table = table
    this.#rows = rows
    this.#digest = new BinaryRows(table.types, rows).digest()
    this.#bounds = [...(after ?? []), ...(through ?? [])]
    const key = `(${quoted(table.key)})`
    const values = (first: number) => `(${table.key.map((_, i) => `$${first + i}`).join(', ')})`
    const conditions = [
      after === null ? [] : `${key} > ${values(1)}`,
      through === null ? [] : `${key} <= ${values(1 + (after ?? []).length)}`,
    ].flat()
    this.#condition = conditions.length === 0 ? 'true' : conditions.join(' and ')
  }

  async compare(): Promise<{ rows: number; same: boolean }> {
    const { name, columns, key } = this.#table
    const found = await this.#client.query<{ rows: number; digest: Buffer }>(
      `select count(*) as rows, ${digestExpression(quoted(columns), quoted(key))} as digest
       from "${name}" where ${this.#condition}`,
      [...this.#bounds],
    )
    const { rows, digest } = found.rows[0]!
    this.#found = rows
    return { rows, same: rows === this.#rows.length && this.#digest.equals(digest) }
  }

  async put(): Promise<void> {
    await this.#client.query('begin')
    try {
      if (this.#found === 0) await this.#copyInto(`"${this.#table.name}"`)
      else await this.#merge()
      await this.#client.query('commit')
    } catch (error) {
      await this.#client.query('rollback').catch(() => {})
      throw error
    }
  }

  /** Leaves equal rows untouched, and never deletes a row that it inserts again, because other rows may refer to it. */
  async #merge(): Promise<void> {
    const { name, columns, key } = this.#table
    const expected = `"expected_${name}"`
    await this.#client.query(`create temporary table if not exists ${expected} (like "${name}") on commit delete rows`)
    await this.#copyInto(expected)
    await this.#client.query(
      `delete from "${name}" where ${this.#condition} and (${quoted(key)}) not in (select ${quoted(key)} from ${expected})`,
      [...this.#bounds],
    )
    const others = columns.filter((column) => !key.includes(column))
    const all = (table: string) => `(${columns.map((column) => `${table}."${column}"`).join(', ')})`
    const update =
      others.length === 0
        ? 'nothing'
        : `update set ${others.map((column) => `"${column}" = excluded."${column}"`).join(', ')}
           where ${all('existing')} is distinct from ${all('excluded')}`
    await this.#client.query(
      `insert into "${name}" as existing (${quoted(columns)}) select ${quoted(columns)} from ${expected}
       on conflict (${quoted(key)}) do ${update}`,
    )
  }

  #copyInto(table: string): Promise<void> {
    const { columns, types } = this.#table
    return copyInto(this.#client, `${table} (${quoted(columns)})`, types, this.#rows)
  }
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')
