import { type Kysely, sql } from 'kysely'
import { type FieldPermission, readableFields, type Scope, versionLanguage } from '../../access/scope.ts'
import type { DocumentRecord, VersionRecord } from '../../catalog/catalog-store.ts'
import { type ReadableDocument, readableDocument } from '../../catalog/document-answer.ts'
import { documentLine, versionLine } from '../../export/export-line.ts'
import type { ExportPortion, ExportPosition, ExportQuery, ExportSource } from '../../export/export-source.ts'
import { idTimeMs } from '../../ids.ts'
import { documentRecord, recordColumns } from './catalog-store.ts'
import { readBodies } from './read-bodies.ts'
import { alongLanes, isInLane, type Lane, lanesOf } from './scope-lanes.ts'
import type { Tables } from './tables.ts'

/** What one portion takes of a reader: a few milliseconds. */
export interface PortionBounds {
  /** Documents that are looked at, and earlier versions of them. */
  readonly documents: number
  readonly versions: number
  /** Of text that is read, unless the first text alone has more. */
  readonly textBytes: number
}

const usualBounds: PortionBounds = { documents: 250, versions: 1000, textBytes: 1024 * 1024 }

/** One line to come. */
interface Item {
  readonly record: DocumentRecord
  /** The document itself, where the line is its own and not of an earlier version. */
  readonly document: ReadableDocument | null
  readonly version: VersionHead
  /** What may be read of the version. */
  readonly fields: ReadonlySet<FieldPermission>
}

type VersionHead = Omit<VersionRecord, 'body'> & { readonly documentId: string; readonly bytes: number }

export function sqlExportSource(db: Kysely<Tables>, bounds = usualBounds): ExportSource {
  return {
    async portion(query) {
      const { ids, atEnd: isLast } = await idsAfter(db, query, bounds.documents)
      const end = ids.at(-1)
      const rest: ExportPosition | null = end === undefined ? query.after : { documentId: end, versionId: null }
      const { items, through } = await itemsOf(db, query, ids, bounds.versions)
      const taken = withinBounds(items, query.documentsMax, bounds.textBytes)
      const isCut = taken.length < items.length
      const last = taken.at(-1)
      return {
        ...(await linesOf(db, taken)),
        position: isCut ? positionAfter(last!, query) : (through ?? rest),
        atEnd: isLast && !isCut && through === null,
      }
    },
  }
}

/**
 * The next documents of the datasets that the scope names, in order. Each dataset is a lane of its own, walked along its
 * index; what only one lane is known to a certain id counts no further for the others.
 */
async function idsAfter(db: Kysely<Tables>, { scope, after }: ExportQuery, documentsMax: number) {
  const lanes = lanesOf(scope.entries)
  const perLane = lanes.length === 1 ? documentsMax : Math.max(16, Math.ceil((2 * documentsMax) / lanes.length))
  // A document that is not done comes first once more.
  const operator = sql.raw(after !== null && after.versionId !== null ? '>=' : '>')
  const walk = (own: Lane, lane: number) =>
    sql`select * from (select document_id, ${sql.lit(lane)} as lane from document where ${isInLane(own)} and document_id ${operator} ${after?.documentId ?? ''} order by document_id limit ${sql.lit(perLane)}) as walked`
  const found = await alongLanes<{ document_id: string; lane: number }>(db, lanes, walk)
  let horizon: string | null = null
  for (const ofLane of Map.groupBy(found, ({ lane }) => lane).values()) {
    if (ofLane.length < perLane) continue
    const last = ofLane.reduce((most, { document_id }) => (document_id > most ? document_id : most), '')
    if (horizon === null || last < horizon) horizon = last
  }
  const ids = found
    .map((row) => row.document_id)
    .filter((id) => horizon === null || id <= horizon)
    .sort()
  return { ids: ids.slice(0, documentsMax), atEnd: horizon === null && ids.length <= documentsMax }
}

/** The lines of these documents, in order. `through` says how far they go where there are more. */
async function itemsOf(db: Kysely<Tables>, query: ExportQuery, ids: readonly string[], versionsMax: number) {
  const items: Item[] = []
  if (ids.length === 0) return { items, through: null }
  const { scope, after } = query
  const rows = await db
    .selectFrom('document')
    .innerJoin('document_version', 'document_version.version_id', 'document.current_version_id')
    .select(recordColumns.map((column) => `document.${column}` as const))
    .select(headColumns)
    .where('document.document_id', 'in', ids)
    .orderBy('document.document_id')
    .execute()
  const earlier = query.versions === 'all' ? await earlierVersions(db, after, ids, versionsMax) : null
  // What came along of the last document is all of it, or says where to go on.
  const last = earlier?.isCut ? earlier.heads.at(-1)! : null
  for (const row of rows) {
    const record = documentRecord(row)
    if (last !== null && record.documentId > last.documentId) break
    const isBegun = after?.versionId != null && after.documentId === record.documentId
    const document = readableDocument(record, scope)
    if (document !== null && !isBegun) {
      const version = headOf(row)
      items.push({ record, document, version, fields: fieldsOf(version, record, document, scope) })
    }
    for (const version of earlier?.of.get(record.documentId) ?? []) {
      if (version.versionId === record.currentVersionId) continue
      const fields = fieldsOf(version, record, document, scope)
      if (fields.has('body')) items.push({ record, document: null, version, fields })
    }
  }
  return { items, through: last === null ? null : { documentId: last.documentId, versionId: last.versionId } }
}

/** Most versions are in the language of their document, and open with it. */
function fieldsOf(
  version: VersionHead,
  record: DocumentRecord,
  document: ReadableDocument | null,
  scope: Scope,
): ReadonlySet<FieldPermission> {
  const language = versionLanguage(version.language, record.language)
  if (document !== null && language === record.language) return document.fields
  return readableFields(scope, { ...record, language }) ?? nothing
}

const nothing: ReadonlySet<FieldPermission> = new Set()

const headColumns = [
  'document_version.version_id as version_id',
  'document_version.language as version_language',
  'document_version.published_at as version_published_at',
  'document_version.title as version_title',
  sql<number | null>`octet_length(document_version.body)`.as('bytes'),
] as const

interface HeadRow {
  readonly document_id: string
  readonly version_id: string
  readonly version_language: string | null
  readonly version_published_at: number | null
  readonly version_title: string | null
  readonly bytes: number | null
}

const headOf = (row: HeadRow): VersionHead => ({
  documentId: row.document_id,
  versionId: row.version_id,
  title: row.version_title,
  language: row.version_language,
  publishedAt: row.version_published_at,
  createdAt: idTimeMs(row.version_id),
  bytes: row.bytes ?? 0,
})

async function earlierVersions(
  db: Kysely<Tables>,
  after: ExportPosition | null,
  ids: readonly string[],
  versionsMax: number,
) {
  let select = db
    .selectFrom('document_version')
    .select('document_version.document_id')
    .select(headColumns)
    .where('document_id', 'in', ids)
    .orderBy('document_id')
    .orderBy('version_id')
    .limit(versionsMax)
  if (after?.versionId != null) {
    const { documentId, versionId } = after
    select = select.where((eb) => eb.or([eb('document_id', '!=', documentId), eb('version_id', '>', versionId)]))
  }
  const heads = (await select.execute()).map(headOf)
  return { heads, of: Map.groupBy(heads, ({ documentId }) => documentId), isCut: heads.length === versionsMax }
}

function withinBounds(items: readonly Item[], mostDocuments: number, textBytesMax: number): readonly Item[] {
  let documents = 0
  let bytes = 0
  const end = items.findIndex(({ document, version, fields }, i) => {
    if (document !== null && documents === mostDocuments) return true
    bytes += fields.has('body') ? version.bytes : 0
    if (document !== null) documents++
    return bytes > textBytesMax && i > 0
  })
  return end < 0 ? items : items.slice(0, end)
}

const positionAfter = ({ document, version, record }: Item, { versions }: ExportQuery): ExportPosition => ({
  documentId: record.documentId,
  versionId: versions === 'current' ? null : document === null ? version.versionId : '',
})

async function linesOf(
  db: Kysely<Tables>,
  items: readonly Item[],
): Promise<Pick<ExportPortion, 'lines' | 'documents'>> {
  const wanted = items.filter(({ fields }) => fields.has('body')).map(({ version }) => version.versionId)
  const bodies = new Map((await readBodies(db, wanted)).map(({ versionId, body }) => [versionId, body]))
  let documents = 0
  const lines = items.map(({ record, document, version: head, fields }) => {
    const version = { ...head, body: bodies.get(head.versionId) ?? null }
    if (document === null) return versionLine(version, record, fields)
    documents++
    return documentLine(document, fields.has('body') ? version : null, fields)
  })
  // Not a Buffer: a small one is a piece of a pool, and would go over to another thread with all of it.
  return { lines: new TextEncoder().encode(lines.join('')), documents }
}
