import type { FieldPermission } from '../access/scope.ts'
import type { DocumentRecord, VersionRecord } from '../catalog/catalog-store.ts'
import { contentAnswer, documentAnswer, type ReadableDocument } from '../catalog/document-answer.ts'

/** A line of an export: the document as batch-get has it, its text as `…/content` has it; null without `body`. */
export function documentLine(document: ReadableDocument, version: VersionRecord | null, fields: Fields): string {
  const content = version && contentAnswer(version, document.record, fields)
  return `{"type":"document","document":${JSON.stringify(documentAnswer(document))},"content":${JSON.stringify(content)}}\n`
}

/** An earlier version. It may be readable where its document is not, by the language that it is in. */
export function versionLine(version: VersionRecord, record: DocumentRecord, fields: Fields): string {
  return `{"type":"version","content":${JSON.stringify(contentAnswer(version, record, fields))}}\n`
}

/** What may be read of the version. */
type Fields = ReadonlySet<FieldPermission>
