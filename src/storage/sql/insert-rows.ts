import { CompiledQuery, type DialectAdapter, type Insertable, type Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Rows per statement, largest first: few distinct statements, each compiled once and kept prepared by the driver. */
const groupSizes = [64, 16, 4, 1] as const

/** An adapter whose database can insert many rows faster than with INSERT … VALUES. */
export interface BulkInsertAdapter {
  insertMany(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<void>
}

const compiled = new WeakMap<DialectAdapter, Map<string, string>>()

/**
 * Inserts many rows of one shape. Kysely takes longer to compile a large insert than the database takes to run it, so
 * the text for each group size is compiled once and only the values change.
 */
export async function insertRows<Table extends keyof Tables>(
  db: Kysely<Tables>,
  table: Table,
  rows: readonly Insertable<Tables[Table]>[],
): Promise<void> {
  const columns = rows.length === 0 ? [] : Object.keys(rows[0]!)
  const valuesOf = (row: Insertable<Tables[Table]>): unknown[] =>
    columns.map((column) => (row as Record<string, unknown>)[column] ?? null)
  const { adapter } = db.getExecutor()
  if (rows.length > 1 && hasBulkInsert(adapter)) return adapter.insertMany(table, columns, rows.map(valuesOf))
  let done = 0
  for (const size of groupSizes) {
    while (rows.length - done >= size) {
      const parameters = rows.slice(done, done + size).flatMap(valuesOf)
      await db.executeQuery(CompiledQuery.raw(insertText(db, table, columns, size), parameters))
      done += size
    }
  }
}

const hasBulkInsert = (adapter: DialectAdapter): adapter is DialectAdapter & BulkInsertAdapter =>
  'insertMany' in adapter

function insertText(db: Kysely<Tables>, table: keyof Tables, columns: readonly string[], size: number): string {
  const { adapter } = db.getExecutor()
  let texts = compiled.get(adapter)
  if (texts === undefined) {
    texts = new Map()
    compiled.set(adapter, texts)
  }
  const key = `${table} ${size} ${columns.join()}`
  let text = texts.get(key)
  if (text === undefined) {
    const row = Object.fromEntries(columns.map((column) => [column, 0])) as never
    text = db.insertInto(table).values(Array(size).fill(row)).compile().sql
    texts.set(key, text)
  }
  return text
}
