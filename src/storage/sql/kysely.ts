import { createRequire } from 'node:module'
import type * as kysely from 'kysely'

/**
 * What is made of Kysely at run time; types come from the package itself. As CommonJS, because its 264 files are loaded by
 * every thread of the store, and by commands: so that takes 26 ms of the thread's CPU, by `import` 44.
 */
const require = createRequire(import.meta.url)
export const {
  CompiledQuery,
  DataTypeNode,
  DummyDriver,
  Kysely,
  OperationNodeTransformer,
  PostgresAdapter,
  PostgresDialect,
  PostgresIntrospector,
  PostgresQueryCompiler,
  RawNode,
  SqliteDialect,
  sql,
} = require('kysely') as typeof kysely
export type Kysely<Tables> = kysely.Kysely<Tables>
