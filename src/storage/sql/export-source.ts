import type { Kysely } from 'kysely'
import { type FieldPermission, readableFields, type Scope, versionLanguage } from '../../access/scope.ts'
import {
  contentText,
  documentLine,
  type ExportedDocument,
  type ExportedVersion,
  versionLine,
} from '../../export/export-line.ts'
import type { ExportPortion, ExportPosition, ExportQuery, ExportSource } from '../../export/export-source.ts'
import { sql } from './kysely.ts'
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

export const usualBounds: PortionBounds = { documents: 250, versions: 1000, textBytes: 1024 * 1024 }

/** Texts up to so many bytes come along with their documents, where all that is looked at is open; others are read apart. */
const shortBytes = 4096

/** One line to come. */
interface Item {
  readonly document: ExportedDocument
  /** Whether the line is the document's own, and not of an earlier version. */
  readonly isDocument: boolean
  /** What may be read of the document; null where it is hidden and only the version is not. */
  readonly fields: ReadonlySet<FieldPermission> | null
  readonly version: VersionRow
  readonly versionFields: ReadonlySet<FieldPermission>
}

interface VersionRow extends ExportedVersion {
  readonly document_id: string
  /** Null where there is no text. */
  readonly bytes: number | null
  /** Null where it is to be read, too. */
  readonly body: string | null
}

type ExportRow = ExportedDocument & VersionRow & { readonly lane: number }

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
 * The next documents of the datasets that the scope names, in order, each with its current version. Each dataset is a
 * lane of its own, walked along its index; what only one lane is known to a certain id counts no further for the others.
 */
async function rowsAfter(db: Kysely<Tables>, { scope, after, documentsMax: asked }: ExportQuery, documentsMax: number) {
  const lanes = lanesOf(scope.entries)
  const most = Math.min(documentsMax, Math.max(asked, documentsLeast))
  const perLane = lanes.length === 1 ? most : Math.max(16, Math.ceil((2 * most) / lanes.length))
  // A document that is not done comes first once more.
  const operator = sql.raw(after !== null && after.versionId !== null ? '>=' : '>')
  const body = isOpen(scope, lanes)
    ? sql`case when octet_length(version.body) <= ${sql.lit(shortBytes)} then version.body end`
    : sql`null`
  const walk = (own: Lane, lane: number) =>
    sql`select document.*, version.version_id, version.language as version_language, version.published_at as version_published_at, version.title as version_title, octet_length(version.body) as bytes, ${body} as body, ${sql.lit(lane)} as lane from (select ${documentColumns} from document where ${isInLane(own)} and document_id ${operator} ${after?.documentId ?? ''} order by document_id limit ${sql.lit(perLane)}) as document join document_version as version on version.version_id = document.current_version_id`
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

/** Looked at where fewer lines are wanted: some may be hidden. */
const documentsLeast = 50

/** Whether every text that is looked at may be read: what may not be is not read either. */
export const isOpen = ({ entries }: Scope, lanes: readonly Lane[]): boolean =>
  entries.every(
    ({ fields, languages, regions, publishedFrom, publishedTo }) =>
      fields.includes('body') && [languages, regions, publishedFrom, publishedTo].every((bound) => bound === null),
  ) &&
  (entries.every(({ platforms }) => platforms === null) || lanes.every(({ platform }) => platform !== null))

const documentColumns = sql.raw(
  'document_id, dataset_id, source_platform, external_id, url, title, content_type, language, region, status, current_version_id, published_at, observed_at, author, topics, tags, classifications, score',
)
const versionColumns = [
  'version.version_id',
  'version.language as version_language',
  'version.published_at as version_published_at',
  'version.title as version_title',
  sql<number | null>`octet_length(version.body)`.as('bytes'),
] as const

/** The lines of these documents, in order. `through` says how far they go where there are more. */
async function itemsOf(db: Kysely<Tables>, query: ExportQuery, rows: readonly ExportRow[], versionsMax: number) {
  const items: Item[] = []
  if (rows.length === 0) return { items, through: null }
  const { scope, after } = query
  const ids = rows.map((row) => row.document_id)
  const earlier = query.versions === 'all' ? await earlierVersions(db, after, ids, versionsMax) : null
  // What came along of the last document is all of it, or says where to go on.
  const last = earlier?.isCut ? earlier.heads.at(-1)! : null
  for (const row of rows) {
    if (last !== null && row.document_id > last.document_id) break
    const isBegun = after?.versionId != null && after.documentId === row.document_id
    const fields = fieldsIn(scope, row, row.language)
    if (fields !== null && !isBegun) {
      const versionFields = fieldsOf(row, row, fields, scope)
      items.push({ document: row, isDocument: true, fields, version: row, versionFields })
    }
    for (const version of earlier?.of.get(row.document_id) ?? []) {
      if (version.version_id === row.current_version_id) continue
      const versionFields = fieldsOf(version, row, fields, scope)
      if (versionFields.has('body')) items.push({ document: row, isDocument: false, fields, version, versionFields })
    }
  }
  return { items, through: last === null ? null : { documentId: last.document_id, versionId: last.version_id } }
}

/** Most versions are in the language of their document, and open with it. */
function fieldsOf(
  version: VersionRow,
  document: ExportedDocument,
  ofDocument: ReadonlySet<FieldPermission> | null,
  scope: Scope,
): ReadonlySet<FieldPermission> {
  const language = versionLanguage(version.version_language, document.language)
  if (ofDocument !== null && language === document.language) return ofDocument
  return fieldsIn(scope, document, language) ?? nothing
}

const fieldsIn = (scope: Scope, document: ExportedDocument, language: string | null) =>
  readableFields(scope, {
    datasetId: document.dataset_id,
    platform: document.source_platform,
    language,
    region: document.region,
    publishedAt: document.published_at,
  })

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
  documentId: document.document_id,
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
    const content = versionFields.has('body') ? contentText(document, version, body, versionFields) : null
    if (!isDocument) return versionLine(content!)
    documents++
    return documentLine(document, fields!, content)
  })
  return { lines: bytesOf(lines), documents }
}

const encoder = new TextEncoder()

/** Not joined first, which would copy all of it once more; and not a Buffer, which a small one shares with others. */
function bytesOf(lines: readonly string[]): Uint8Array {
  const length = lines.reduce((sum, line) => sum + line.length, 0)
  let bytes = new Uint8Array(length + (length >> 3) + 3 * (lines.at(-1)?.length ?? 0))
  let at = 0
  for (const line of lines) {
    // A character takes three bytes at the most.
    if (bytes.length - at < 3 * line.length) {
      const larger = new Uint8Array(2 * bytes.length + 3 * line.length)
      larger.set(bytes.subarray(0, at))
      bytes = larger
    }
    at += encoder.encodeInto(line, bytes.subarray(at)).written
  }
  return bytes.subarray(0, at)
}
