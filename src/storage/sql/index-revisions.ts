import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'
import { together } from './together.ts'

/** The last revision assigned. An erased document has one too, so that no revision is assigned twice. */
export async function lastRevision(db: Kysely<Tables>): Promise<number> {
  const newest = (table: 'document' | 'erased_document') =>
    db.selectFrom(table).select('index_revision').orderBy('index_revision', 'desc').limit(1).executeTakeFirst()
  const rows = await together(db, [() => newest('document'), () => newest('erased_document')])
  return Math.max(0, ...rows.map((row) => row?.index_revision ?? 0))
}
