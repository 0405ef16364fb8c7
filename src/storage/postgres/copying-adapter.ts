import { PostgresAdapter } from 'kysely'
import pg from 'pg'
import type { BulkInsertAdapter } from '../sql/insert-rows.ts'
import type { PipeliningAdapter } from '../sql/together.ts'
import { copyInto } from './copy-into.ts'

const inFailedTransaction = '25P02'

/** For one connection: writes many rows of a table with COPY, and pipelines statements. */
export class CopyingAdapter extends PostgresAdapter implements BulkInsertAdapter, PipeliningAdapter {
  readonly #client: pg.ClientBase
  readonly #types = new Map<string, ReadonlyMap<string, number>>()

  constructor(client: pg.ClientBase) {
    super()
    this.#client = client
  }

  isOfEarlierFailure(error: unknown): boolean {
    return error instanceof pg.DatabaseError && error.code === inFailedTransaction
  }

  async insertMany(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<void> {
    const known = this.#types.get(table) ?? (await this.#readTypes(table))
    const types = columns.map((column) => known.get(column)!)
    const names = columns.map((column) => `"${column}"`).join(', ')
    await copyInto(this.#client, `"${table}" (${names})`, types, rows)
  }

  /** The column types of a table, cached for the life of the connection, because a column never changes its type. */
  async #readTypes(table: string): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#client.query<{ name: string; type: number }>(
      'select attname as name, atttypid::int as type from pg_attribute where attrelid = $1::regclass and attnum > 0',
      [table],
    )
    const types = new Map(rows.map(({ name, type }) => [name, type]))
    this.#types.set(table, types)
    return types
  }
}
