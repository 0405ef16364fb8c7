import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** The texts of some versions. Read separately, and only where they are shown, because they can be long. */
export async function readBodies(
  db: Kysely<Tables>,
  versionIds: readonly string[],
): Promise<{ versionId: string; body: string | null }[]> {
  if (versionIds.length === 0) return []
  const rows = await db
    .selectFrom('document_version')
    .select(['version_id', 'body'])
    .where('version_id', 'in', versionIds)
    .execute()
  return rows.map(({ version_id, body }) => ({ versionId: version_id, body }))
}
