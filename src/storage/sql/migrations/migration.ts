import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

/** Forward only. Each runs once, in a transaction, in the order of its number; a landed one is never edited. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly up: (db: Kysely<Tables>, dialect: Dialect) => Promise<void>
}

export type Dialect = 'sqlite' | 'postgres'
