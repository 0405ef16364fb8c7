import type { CreateTableBuilder, Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

/**
 * A forward-only change of the schema. Each migration runs once, in a transaction, in the order of its number, and is
 * never edited after its release. None may rewrite or scan a table that can be large, because the whole instance would
 * wait for its locks. Existing tables get nullable columns, or new tables beside them.
 */
export interface Migration {
  readonly number: number
  readonly name: string
  /**
   * True if a process of an older version can no longer work with the store: it would read or write wrong data, or
   * fail. Such a process stops as soon as it sees the migration, and none can be started. During an upgrade, processes
   * of older versions continue beside the new ones unless a migration is breaking.
   */
  readonly breaking: boolean
  readonly up: (db: Kysely<Tables>, dialect: MigrationDialect) => Promise<void>
}

/** How the databases differ when tables are created, named by capability. */
export interface MigrationDialect {
  /** A number that the database assigns in ascending order and never again, even after rows are deleted. */
  ascendingKey<T extends string, C extends string>(
    table: CreateTableBuilder<T, C>,
    column: string,
  ): CreateTableBuilder<T, C>
  /** The type of raw bytes. */
  readonly bytes: 'blob' | 'bytea'
  /** A table that is stored in the order of its primary key, if the database supports that. */
  storedByKey<T extends string, C extends string>(table: CreateTableBuilder<T, C>): CreateTableBuilder<T, C>
  /** A table that is cheaper to write and may be empty after a crash, if the database supports that. */
  forgettable<T extends string, C extends string>(table: CreateTableBuilder<T, C>): CreateTableBuilder<T, C>
  hasTable(db: Kysely<Tables>, name: string): Promise<boolean>
  /** Skips the next `count` numbers of an ascending key. */
  skipNumbers(db: Kysely<Tables>, table: string, column: string, count: number): Promise<void>
}
