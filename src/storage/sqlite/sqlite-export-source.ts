import type { FieldPermission, Scope } from '../../access/scope.ts'
import { authorText, documentTimes, versionTimes } from '../../export/export-line.ts'
import type { ExportSource } from '../../export/export-source.ts'
import { isOpen, type PortionBounds, sqlExportSource, usualBounds } from '../sql/export-source.ts'
import { sql } from '../sql/kysely.ts'
import { isInLane, type Lane, lanesOf } from '../sql/scope-lanes.ts'
import type { SqliteConnection } from './node-sqlite.ts'

/** Lanes that one statement merges; more are read the general way. */
const lanesMax = 64

/**
 * Lines that SQLite itself writes, a portion by one statement: no row becomes an object here and no text a string, which
 * is most of what a portion costs otherwise. For scopes that open all that they name, as those of most applications do; what else
 * is asked for goes the general way.
 */
export function sqliteExportSource({ raw, db }: SqliteConnection, bounds: PortionBounds = usualBounds): ExportSource {
  const general = sqlExportSource(db, bounds)
  const room = roomFor(bounds.textBytes)
  const define = (name: string, work: (...values: never[]) => string | number) =>
    raw.function(name, work as () => string)
  define('export_document_times', documentTimes)
  define('export_version_times', versionTimes)
  define('export_author', authorText)
  define('export_has_room', room.take)
  return {
    async portion(query) {
      const { scope, after, versions, documentsMax } = query
      const lanes = lanesOf(scope.entries)
      const fields = lanes.length > 0 && lanes.length <= lanesMax ? fieldsForAll(scope, lanes) : null
      if (fields === null || versions !== 'current') return general.portion(query)
      const most = Math.min(bounds.documents, documentsMax)
      room.clear()
      const { rows } = await sql<Portion>`
        select cast(group_concat(line, '') as blob) as lines, count(line) as documents, max(document_id) filter (where line is not null) as last
        from (
          select document.document_id as document_id, iif(export_has_room(octet_length(version.body)), ${lineSql(fields)}, null) as line
          from ${documentsIn(lanes, after?.documentId ?? '', most)}
        )`.execute(db)
      const { lines, documents, last } = rows[0]!
      return {
        lines: lines ?? new Uint8Array(),
        documents,
        position: last === null ? after : { documentId: last, versionId: null },
        atEnd: documents < most && !room.isFull,
      }
    },
  }
}

interface Portion {
  readonly lines: Uint8Array | null
  readonly documents: number
  readonly last: string | null
}

/**
 * The next documents, each with its current version. One lane is walked as it is, which spares a copy of every row. There is a
 * limit in any case: without it SQLite would work out a line wherever it is named.
 */
function documentsIn(lanes: readonly Lane[], after: string, most: number) {
  const withVersion = sql`cross join document_version as version on version.version_id = document.current_version_id`
  const isNext = (lane: Lane) => sql`${isInLane(lane)} and document.document_id > ${after}`
  const inOrder = sql`order by document_id limit ${sql.lit(most)}`
  if (lanes.length === 1) return sql`document ${withVersion} where ${isNext(lanes[0]!)} ${inOrder}`
  const walks = lanes.map((lane) => sql`select * from document where ${isNext(lane)}`)
  return sql`(${sql.join(walks, sql` union all `)} ${inOrder}) as document ${withVersion} limit ${sql.lit(most)}`
}

/** What may be read of every document in these lanes; null where that is not the same for all, or a text may not be read. */
function fieldsForAll(scope: Scope, lanes: readonly Lane[]): ReadonlySet<FieldPermission> | null {
  if (!isOpen(scope, lanes)) return null
  const { entries } = scope
  const fields = new Set(entries[0]!.fields)
  const isSame = entries.every((entry) => fields.symmetricDifference(new Set(entry.fields)).size === 0)
  return isSame ? fields : null
}

/** The texts of a portion, up to so many bytes, or the first one alone. Asked once for each document, in order. */
function roomFor(bytesMax: number) {
  const room = {
    bytes: 0,
    isFull: false,
    clear: (): void => {
      room.bytes = 0
      room.isFull = false
    },
    take: (bytes: number | null): number => {
      room.isFull ||= room.bytes > 0 && room.bytes + (bytes ?? 0) > bytesMax
      room.bytes += bytes ?? 0
      return room.isFull ? 0 : 1
    },
  }
  return room
}

/** `documentLine` with `contentText`, in the words of SQLite: the same bytes. */
function lineSql(fields: ReadonlySet<FieldPermission>) {
  const text = (column: string) => `json_quote(${column})`
  const parts = [
    `'{"type":"document","document":{"id":"', document.document_id, '","dataset_id":', ${text('dataset_id')}`,
    `',"source_platform":', ${text('source_platform')}, ',"external_id":', ${text('external_id')}, ',"url":', ${text('url')}`,
    ...(fields.has('title') ? [`',"title":', ${text('document.title')}`] : []),
    `',"content_type":', ${text('content_type')}, ',"language":', ${text('document.language')}, ',"region":', ${text('region')}`,
    `',"status":"', iif(status = 'unavailable', status, 'active'), '","current_version_id":"', current_version_id`,
    `'",', export_document_times(document.document_id, document.published_at, observed_at)`,
    ...(fields.has('author') || fields.has('metadata') ? [`',"author":', export_author(author)`] : []),
    ...(fields.has('metadata') ? [`',"topics":', ifnull(topics, '[]'), ',"tags":', ifnull(tags, '[]')`] : []),
    ...(fields.has('facts') ? [`',"classifications":', ifnull(classifications, '[]')`] : []),
    ...(fields.has('metrics') ? [`',"score":', ifnull(score, 'null')`] : []),
    `'},"content":{"document_id":"', document.document_id, '","version_id":"', version.version_id, '","is_current":true'`,
    ...(fields.has('title') ? [`',"title":', ${text('version.title')}`] : []),
    `',"body":', ${text('version.body')}, ',"language":', ${text('version.language')}`,
    `',', export_version_times(version.version_id, version.published_at), '}}', char(10)`,
  ]
  return sql.raw(`concat(${parts.join(', ')})`)
}
