import type { CreateTableBuilder, Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

/**
 * Forward only. Each runs once, in a transaction, in the order of its number; a landed one is never edited. None may
 * rewrite or scan a table that can be large: what exists gets nullable columns and new tables beside it, or a whole
 * instance would wait for its locks.
 */
export interface Migration {
  readonly number: number
  readonly name: string
  /**
   * Whether a process of an older version, which was written without knowing it, can no longer work with the store: it
   * would read or write something wrong, or fail. Such a process ends its work as soon as it sees that one was applied,
   * and none is started on it. During an upgrade all others go on, beside the new ones.
   */
  readonly breaking: boolean
  readonly up: (db: Kysely<Tables>, dialect: MigrationDialect) => Promise<void>
}

/** What the dialects do differently when tables are made, named by capability. */
export interface MigrationDialect {
  /** A number that the database gives out in ascending order and never again, also after rows are deleted. */
  ascendingKey<T extends string, C extends string>(
    table: CreateTableBuilder<T, C>,
    column: string,
  ): CreateTableBuilder<T, C>
  /** The type of raw bytes. */
  readonly bytes: 'blob' | 'bytea'
  /** A table that is stored in the order of its primary key, where the database can do that. */
  storedByKey<T extends string, C extends string>(table: CreateTableBuilder<T, C>): CreateTableBuilder<T, C>
  /** A table that may be empty after a crash, and is cheaper to write for it, where the database can do that. */
  forgettable<T extends string, C extends string>(table: CreateTableBuilder<T, C>): CreateTableBuilder<T, C>
  hasTable(db: Kysely<Tables>, name: string): Promise<boolean>
}
