import { type Kysely, sql } from 'kysely'
import { type FieldPermission, readableFields, type Scope, versionLanguage } from '../../access/scope.ts'
import type { DocumentRecord, VersionRecord } from '../../catalog/catalog-store.ts'
import { documentLine, versionLine } from '../../export/export-line.ts'
import type { ExportPortion, ExportPosition, ExportQuery, ExportSource } from '../../export/export-source.ts'
import { idTimeMs } from '../../platform/ids.ts'
import { documentRecord, type RecordRow, recordColumns } from './catalog-store.ts'
import { readBodies } from './read-bodies.ts'
import { alongLanes, isInLane, type Lane, lanesOf } from './scope-lanes.ts'
import type { Tables } from './tables.ts'

/** Bounds the work of a reader for one portion to a few milliseconds. */
interface PortionBounds {
  /** The number of documents that are read, and of their earlier versions. */
  readonly documents: number
  readonly versions: number
  /** The bytes of text that are read. A single longer text is still read. */
  readonly textBytes: number
}

const usualBounds: PortionBounds = { documents: 250, versions: 1000, textBytes: 1024 * 1024 }

/**
 * Texts of up to this many bytes are read together with their documents, if the scope opens all of them. Other texts
 * are read separately.
 */
const shortBytes = 4096

/** One line of the export. */
interface Item {
  readonly document: DocumentRecord
  /** True for the document's own line, false for an earlier version. */
  readonly isDocument: boolean
  /** The fields that may be read of the document; null if only the version is readable. */
  readonly fields: ReadonlySet<FieldPermission> | null
  readonly version: VersionRow
  readonly versionFields: ReadonlySet<FieldPermission>
}

interface VersionRow {
  readonly document_id: string
  readonly version_id: string
  readonly version_title: string | null
  readonly version_language: string | null
  readonly version_published_at: number | null
  /** Null if there is no text. */
  readonly bytes: number | null
  /** Null if the text must still be read. */
  readonly body: string | null
}

type ExportRow = RecordRow & VersionRow & { readonly lane: number }

export function sqlExportSource(db: Kysely<Tables>, bounds = usualBounds): ExportSource {
  return {
    async portion(query) {
      const { rows, atEnd: isLast } = await rowsAfter(db, query, bounds.documents)
      const end = rows.at(-1)?.document_id
      const rest: ExportPosition | null = end === undefined ? query.after : { documentId: end, versionId: null }
      const { items, through } = await itemsOf(db, query, rows, bounds.versions)
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
 * The next documents of the datasets in the scope, in order, each with its current version. Each dataset is a lane of
 * its own, walked along its index. A lane that returns its full share may have more documents, so the result ends at
 * the lowest last id of these lanes.
 */
async function rowsAfter(
  db: Kysely<Tables>,
  { scope, after, documentsMax: requested }: ExportQuery,
  documentsMax: number,
) {
  const lanes = lanesOf(scope.entries)
  const most = Math.min(documentsMax, Math.max(requested, documentsMin))
  const perLane = lanes.length === 1 ? most : Math.max(16, Math.ceil((2 * most) / lanes.length))
  // A document with versions that are still to be exported comes first again.
  const operator = sql.raw(after !== null && after.versionId !== null ? '>=' : '>')
  const body = isOpen(scope, lanes)
    ? sql`case when octet_length(version.body) <= ${sql.lit(shortBytes)} then version.body end`
    : sql`null`
  const walk = (own: Lane, lane: number) =>
    sql`select document.*, version.version_id, version.language as version_language, version.published_at as version_published_at, version.title as version_title, octet_length(version.body) as bytes, ${body} as body, ${sql.lit(lane)} as lane from (select ${sql.join(recordColumns.map((column) => sql.ref(column)))} from document where ${isInLane(own)} and document_id ${operator} ${after?.documentId ?? ''} order by document_id limit ${sql.lit(perLane)}) as document join document_version as version on version.version_id = document.current_version_id`
  const found = await alongLanes<ExportRow>(db, lanes, walk)
  let horizon: string | null = null
  for (const ofLane of Map.groupBy(found, ({ lane }) => lane).values()) {
    if (ofLane.length < perLane) continue
    const last = ofLane.reduce((furthest, { document_id }) => (document_id > furthest ? document_id : furthest), '')
    if (horizon === null || last < horizon) horizon = last
  }
  const rows = found
    .filter(({ document_id }) => horizon === null || document_id <= horizon)
    .sort((a, b) => (a.document_id < b.document_id ? -1 : 1))
  return { rows: rows.slice(0, most), atEnd: horizon === null && rows.length <= most }
}

/** The minimum number of documents that are read, even for fewer lines, because some may not be readable. */
const documentsMin = 50

/** Whether the scope opens the text of every document in the lanes. Other texts must not be read. */
const isOpen = ({ entries }: Scope, lanes: readonly Lane[]): boolean =>
  entries.every(
    ({ fields, languages, regions, publishedFrom, publishedTo }) =>
      fields.includes('body') && [languages, regions, publishedFrom, publishedTo].every((bound) => bound === null),
  ) &&
  (entries.every(({ platforms }) => platforms === null) || lanes.every(({ platform }) => platform !== null))

const versionColumns = [
  'version.version_id',
  'version.language as version_language',
  'version.published_at as version_published_at',
  'version.title as version_title',
  sql<number | null>`octet_length(version.body)`.as('bytes'),
] as const

/** The lines of these documents, in order. `through` is the last position if versions were cut off, otherwise null. */
async function itemsOf(db: Kysely<Tables>, query: ExportQuery, rows: readonly ExportRow[], versionsMax: number) {
  const items: Item[] = []
  if (rows.length === 0) return { items, through: null }
  const { scope, after } = query
  const ids = rows.map((row) => row.document_id)
  const earlier = query.versions === 'all' ? await earlierVersions(db, after, ids, versionsMax) : null
  // If the versions were cut off, the last one read is where the next portion continues.
  const last = earlier?.isCut ? earlier.heads.at(-1)! : null
  for (const row of rows) {
    if (last !== null && row.document_id > last.document_id) break
    const isContinued = after?.versionId != null && after.documentId === row.document_id
    const document = documentRecord(row)
    const fields = readableFields(scope, document)
    if (fields !== null && !isContinued) {
      const versionFields = fieldsOf(row, document, fields, scope)
      items.push({ document, isDocument: true, fields, version: row, versionFields })
    }
    for (const version of earlier?.of.get(row.document_id) ?? []) {
      if (version.version_id === row.current_version_id) continue
      const versionFields = fieldsOf(version, document, fields, scope)
      if (versionFields.has('body')) items.push({ document, isDocument: false, fields, version, versionFields })
    }
  }
  return { items, through: last === null ? null : { documentId: last.document_id, versionId: last.version_id } }
}

/** Most versions are in the language of their document and have its permissions. */
function fieldsOf(
  version: VersionRow,
  document: DocumentRecord,
  ofDocument: ReadonlySet<FieldPermission> | null,
  scope: Scope,
): ReadonlySet<FieldPermission> {
  const language = versionLanguage(version.version_language, document.language)
  if (ofDocument !== null && language === document.language) return ofDocument
  return readableFields(scope, { ...document, language }) ?? nothing
}

const nothing: ReadonlySet<FieldPermission> = new Set()

async function earlierVersions(
  db: Kysely<Tables>,
  after: ExportPosition | null,
  ids: readonly string[],
  versionsMax: number,
) {
  let select = db
    .selectFrom('document_version as version')
    .select('version.document_id')
    .select(versionColumns)
    .select(sql<null>`null`.as('body'))
    .where('document_id', 'in', ids)
    .orderBy('document_id')
    .orderBy('version_id')
    .limit(versionsMax)
  if (after?.versionId != null) {
    const { documentId, versionId } = after
    select = select.where((eb) => eb.or([eb('document_id', '!=', documentId), eb('version_id', '>', versionId)]))
  }
  const heads: VersionRow[] = await select.execute()
  return { heads, of: Map.groupBy(heads, ({ document_id }) => document_id), isCut: heads.length === versionsMax }
}

function withinBounds(items: readonly Item[], mostDocuments: number, textBytesMax: number): readonly Item[] {
  let documents = 0
  let bytes = 0
  const end = items.findIndex(({ isDocument, version, versionFields }, i) => {
    if (isDocument && documents === mostDocuments) return true
    bytes += versionFields.has('body') ? (version.bytes ?? 0) : 0
    if (isDocument) documents++
    return bytes > textBytesMax && i > 0
  })
  return end < 0 ? items : items.slice(0, end)
}

const positionAfter = ({ isDocument, version, document }: Item, { versions }: ExportQuery): ExportPosition => ({
  documentId: document.documentId,
  versionId: versions === 'current' ? null : isDocument ? '' : version.version_id,
})

async function linesOf(
  db: Kysely<Tables>,
  items: readonly Item[],
): Promise<Pick<ExportPortion, 'lines' | 'documents'>> {
  const left = items.filter(
    ({ version: { body, bytes }, versionFields }) => body === null && bytes !== null && versionFields.has('body'),
  )
  const bodies = await readBodies(
    db,
    left.map(({ version }) => version.version_id),
  )
  const bodyOf = new Map(bodies.map(({ versionId, body }) => [versionId, body]))
  let documents = 0
  const lines = items.map(({ document, isDocument, fields, version, versionFields }) => {
    const body = version.body ?? bodyOf.get(version.version_id) ?? null
    const readable = { version: versionRecord(version, body), fields: versionFields }
    if (!isDocument) return versionLine(document, readable)
    documents++
    return documentLine(document, fields!, readable)
  })
  return { lines: lines.join(''), documents }
}

const versionRecord = (row: VersionRow, body: string | null): VersionRecord => ({
  versionId: row.version_id,
  title: row.version_title,
  body,
  language: row.version_language,
  publishedAt: row.version_published_at,
  createdAt: idTimeMs(row.version_id),
})
