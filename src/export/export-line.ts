import type { FieldPermission } from '../access/scope.ts'
import { authorAnswer } from '../catalog/document-answer.ts'
import { idTimeMs } from '../ids.ts'
import { formatTime } from '../time.ts'

/**
 * A document as stores keep it, under the names that consumers know. Times are in milliseconds; lists and the author are
 * JSON texts, null where they are empty.
 */
export interface ExportedDocument {
  readonly document_id: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly external_id: string
  readonly url: string | null
  readonly title: string | null
  readonly content_type: string | null
  readonly language: string | null
  readonly region: string | null
  readonly status: string
  readonly current_version_id: string
  readonly published_at: number | null
  readonly observed_at: number
  readonly author: string | null
  readonly topics: string | null
  readonly tags: string | null
  readonly classifications: string | null
  readonly score: number | null
}

/** One of its versions. */
export interface ExportedVersion {
  readonly version_id: string
  readonly version_title: string | null
  readonly version_language: string | null
  readonly version_published_at: number | null
}

/** What may be read. */
type Fields = ReadonlySet<FieldPermission>

/**
 * A line of an export: the document as batch-get has it (`documentAnswer`), its text as `…/content` has it
 * (`contentAnswer`); null without `body`. Made by hand, because the general serialiser, and parsing what it is to write
 * again, take three times as long. Ids, times and states have no characters that JSON escapes.
 */
export function documentLine(document: ExportedDocument, fields: Fields, content: string | null): string {
  return (
    `{"type":"document","document":{"id":"${document.document_id}","dataset_id":${JSON.stringify(document.dataset_id)},` +
    `"source_platform":${JSON.stringify(document.source_platform)},"external_id":${JSON.stringify(document.external_id)},` +
    `"url":${JSON.stringify(document.url)},${fields.has('title') ? `"title":${JSON.stringify(document.title)},` : ''}` +
    `"content_type":${JSON.stringify(document.content_type)},"language":${JSON.stringify(document.language)},` +
    `"region":${JSON.stringify(document.region)},"status":"${document.status === 'unavailable' ? 'unavailable' : 'active'}",` +
    `"current_version_id":"${document.current_version_id}",` +
    documentTimes(document.document_id, document.published_at, document.observed_at) +
    (fields.has('author') || fields.has('metadata') ? `,"author":${authorText(document.author)}` : '') +
    (fields.has('metadata') ? `,"topics":${document.topics ?? '[]'},"tags":${document.tags ?? '[]'}` : '') +
    (fields.has('facts') ? `,"classifications":${document.classifications ?? '[]'}` : '') +
    `${fields.has('metrics') ? `,"score":${document.score}` : ''}},"content":${content}}\n`
  )
}

/** An earlier version. It may be readable where its document is not, by the language that it is in. */
export const versionLine = (content: string): string => `{"type":"version","content":${content}}\n`

export function contentText(
  document: ExportedDocument,
  version: ExportedVersion,
  body: string | null,
  fields: Fields,
): string {
  return (
    `{"document_id":"${document.document_id}","version_id":"${version.version_id}",` +
    `"is_current":${version.version_id === document.current_version_id},` +
    `${fields.has('title') ? `"title":${JSON.stringify(version.version_title)},` : ''}"body":${JSON.stringify(body)},` +
    `"language":${JSON.stringify(version.version_language)},` +
    `${versionTimes(version.version_id, version.version_published_at)}}`
  )
}

const timeText = (timeMs: number | null): string => (timeMs === null ? 'null' : `"${formatTime(timeMs)}"`)

/** Many came in the same millisecond, one after the other. */
let lastIdTime = { inId: '', text: '' }

/** When the document, or the version, came. */
function idTimeText(id: string): string {
  const inId = id.slice(-26, -16)
  if (inId !== lastIdTime.inId) lastIdTime = { inId, text: timeText(idTimeMs(id)) }
  return lastIdTime.text
}

/** The times of a document, as they stand in its line. */
export const documentTimes = (documentId: string, publishedAt: number | null, observedAt: number): string =>
  `"published_at":${timeText(publishedAt)},"created_at":${idTimeText(documentId)},"observed_at":${timeText(observedAt)}`

/** Those of a version. */
export const versionTimes = (versionId: string, publishedAt: number | null): string =>
  `"published_at":${timeText(publishedAt)},"created_at":${idTimeText(versionId)}`

const authorNames = Object.keys(authorAnswer({})!)

/** What stands before each value. */
const authorFields = authorNames.map((name, i) => `${i === 0 ? '{' : ','}"${name}":`)

/** An author without extras, as it is stored: the values by their place. */
const storedAuthor = new RegExp(
  `^\\{${authorNames.map((name) => `(?:"${name}":("[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|[^"{},]+),?)?`).join('')}\\}$`,
)

/**
 * The author as `authorAnswer` has it. What is stored has its fields in this order and leaves out those that are empty, so that the
 * answer can be put together from the text, in a third of the time that reading it and writing it again takes.
 */
export function authorText(author: string | null): string {
  if (author === null) return 'null'
  const values = storedAuthor.exec(author)
  if (values === null) return JSON.stringify(authorAnswer(JSON.parse(author)))
  let text = ''
  for (let i = 0; i < authorFields.length; i++) text += authorFields[i]! + (values[i + 1] ?? 'null')
  return `${text}}`
}
