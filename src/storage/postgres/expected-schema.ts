import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { migrations } from '../sql/migrations/index.ts'
import type { Tables } from '../sql/tables.ts'
import { postgresMigrationDialect, TextByBytes } from './migration-dialect.ts'

export interface ExpectedSchema {
  readonly tables: readonly string[]
  /** Indexes by name, each with the statement that creates it. */
  readonly indexes: ReadonlyMap<string, string>
}

/** The schema that the migrations create. They run against a dummy connection that records their statements. */
export async function expectedSchema(): Promise<ExpectedSchema> {
  const statements: string[] = []
  const nowhere = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    plugins: [new TextByBytes()],
    log: ({ query }) => {
      statements.push(query.sql)
    },
  })
  for (const { up } of migrations) await up(nowhere, postgresMigrationDialect)
  const named = (pattern: RegExp) =>
    statements.flatMap((statement): [string, string][] => {
      const name = pattern.exec(statement)?.[1]
      return name === undefined ? [] : [[name, statement]]
    })
  return {
    tables: named(/^create (?:unlogged )?table "(\w+)"/).map(([name]) => name),
    indexes: new Map(named(/^create (?:unique )?index "(\w+)"/)),
  }
}
