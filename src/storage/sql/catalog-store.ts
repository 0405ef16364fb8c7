import type { Kysely } from 'kysely'
import type { Scope } from '../../access/scope.ts'
import type { CatalogStore, DocumentRecord, Page, SnapshotRecord } from '../../catalog/catalog-store.ts'
import type { FieldsWith } from '../../document/field-types.ts'
import { fieldColumns } from '../../document/rows.ts'
import { idTimeMs } from '../../platform/ids.ts'
import { isVersionOpen } from './browse-conditions.ts'
import { browseIds } from './browse-ids.ts'
import { readColumn } from './document-rows.ts'
import { ingestTimes } from './ingest-times.ts'
import { readBodies } from './read-bodies.ts'
import type { DocumentRow, SnapshotRow, Tables } from './tables.ts'

/**
 * The fields that a record shows. Facts and the extra payload are left out, because they can be far larger than all
 * others together.
 */
const recordRows = fieldColumns.filter(({ answer }) => answer !== undefined)
const otherColumns = ['version_count', 'updated_at', 'snapshot_id'] as const
type RecordColumn = Extract<keyof DocumentRow, FieldsWith<'answer'> | 'document_id'> | (typeof otherColumns)[number]
export const recordColumns = [...recordRows.map(({ column }) => column), ...otherColumns] as readonly RecordColumn[]
export type RecordRow = Pick<DocumentRow, RecordColumn>

export function sqlCatalogStore(db: Kysely<Tables>): CatalogStore {
  return {
    async documents(documentIds, parts) {
      const rows = await db
        .selectFrom('document')
        .select(recordColumns)
        .where('document_id', 'in', documentIds)
        .execute()
      return withParts(db, rows, parts)
    },

    bodies: (versionIds) => readBodies(db, versionIds),

    async version(documentId, versionId, scope) {
      const versions = versionsIn(db, documentId, scope)
      const row = await (versionId === null
        ? versions.whereRef('document_version.version_id', '=', 'document.current_version_id')
        : versions.where('document_version.version_id', '=', versionId)
      )
        .selectAll('document_version')
        .executeTakeFirst()
      if (row === undefined) return null
      return {
        versionId: row.version_id,
        title: row.title,
        body: row.body,
        language: row.language,
        publishedAt: row.published_at,
        createdAt: idTimeMs(row.version_id),
      }
    },

    async versions(documentId, scope, page) {
      const rows = await paged(
        versionsIn(db, documentId, scope).select([
          'document_version.version_id',
          'document_version.title',
          'document_version.language',
        ]),
        'document_version.version_id',
        page,
      ).execute()
      return rows.map((row) => ({
        versionId: row.version_id,
        title: row.title,
        language: row.language,
        createdAt: idTimeMs(row.version_id),
      }))
    },

    async versionCount(documentId, scope) {
      const row = await versionsIn(db, documentId, scope)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },

    async snapshots(documentId, page) {
      const rows = await paged(
        db.selectFrom('snapshot').selectAll().where('document_id', '=', documentId),
        'snapshot_id',
        page,
      ).execute()
      return rows.map(snapshotRecord)
    },

    async browse(query) {
      const ids = await browseIds(db, query)
      if (ids.length === 0) return []
      const rows = await db.selectFrom('document').select(recordColumns).where('document_id', 'in', ids).execute()
      const records = await withParts(db, rows, query)
      const byId = new Map(records.map((record) => [record.documentId, record]))
      return ids.map((id) => byId.get(id)!)
    },

    ingestTimes: (scope) => ingestTimes(db, scope),

    async classifications(datasetId, after, limit) {
      let select = db
        .selectFrom('classification')
        .selectAll()
        .where('dataset_id', '=', datasetId)
        .where('active', '=', 1)
        .orderBy('code')
        .limit(limit)
      if (after !== null) select = select.where('code', '>', after)
      return (await select.execute()).map((row) => ({
        code: row.code,
        name: row.name,
        description: row.description,
        labelSchema: JSON.parse(row.label_schema),
      }))
    },
  }
}

/** The versions of a document that the scope opens. */
const versionsIn = (db: Kysely<Tables>, documentId: string, scope: Scope) =>
  db
    .selectFrom('document_version')
    .innerJoin('document', 'document.document_id', 'document_version.document_id')
    .where('document_version.document_id', '=', documentId)
    .where(isVersionOpen(scope, 'document_version', 'document'))

/**
 * Keyset paging by id. Ids sort by the time they were made, so "newest first" and "after this one" need only the id.
 */
function paged<Query extends { where: unknown; orderBy: unknown; limit: unknown }>(
  query: Query,
  id: string,
  page: Page,
): Query {
  const loose = query as unknown as {
    where(column: string, operator: string, value: string): typeof loose
    orderBy(column: string, direction: string): typeof loose
    limit(most: number): typeof loose
  }
  const from = page.before === null ? loose : loose.where(id, '<', page.before)
  return from.orderBy(id, 'desc').limit(page.limit) as unknown as Query
}

/** Adds the requested parts, with one query for all documents. */
async function withParts(
  db: Kysely<Tables>,
  rows: readonly RecordRow[],
  parts: { snapshot: boolean },
): Promise<DocumentRecord[]> {
  const snapshots = new Map<string, SnapshotRecord>()
  if (parts.snapshot) {
    const ids = rows.flatMap((row) => row.snapshot_id ?? [])
    const found =
      ids.length === 0 ? [] : await db.selectFrom('snapshot').selectAll().where('snapshot_id', 'in', ids).execute()
    for (const row of found) snapshots.set(row.snapshot_id, snapshotRecord(row))
  }
  return rows.map((row) => ({
    ...documentRecord(row),
    ...(parts.snapshot ? { snapshot: snapshots.get(row.snapshot_id ?? '') ?? null } : {}),
  }))
}

export function documentRecord(row: RecordRow): DocumentRecord {
  const record: Record<string, unknown> = {
    createdAt: idTimeMs(row.document_id),
    versionCount: row.version_count,
    seenAt: row.updated_at,
  }
  for (const field of recordRows) record[field.property] = readColumn(row, field)
  return record as unknown as DocumentRecord
}

function snapshotRecord(row: SnapshotRow): SnapshotRecord {
  return {
    snapshotId: row.snapshot_id,
    observedAt: row.observed_at,
    score: row.score,
    metrics: row.metrics === null ? {} : JSON.parse(row.metrics),
  }
}
