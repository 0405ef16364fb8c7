import { type FieldPermission, readableFields, type Scope, versionLanguage } from '../access/scope.ts'
import type { DocumentRecord, VersionRecord } from '../catalog/catalog-store.ts'
import { documentAnswer, type ReadableDocument } from '../catalog/document-answer.ts'
import { formatOptionalTime, formatTime } from '../time.ts'

/** A line of an export: the document as batch-get has it, its text as `…/content` has it; null without `body`. */
export function documentLine(document: ReadableDocument, version: VersionRecord | null, scope: Scope): string {
  const content = version && contentOf(version, document.record, scope)
  return `{"type":"document","document":${JSON.stringify(documentAnswer(document))},"content":${JSON.stringify(content)}}\n`
}

/** An earlier version. It may be readable where its document is not, by the language that it is in. */
export function versionLine(version: VersionRecord, record: DocumentRecord, scope: Scope): string {
  return `{"type":"version","content":${JSON.stringify(contentOf(version, record, scope))}}\n`
}

function contentOf(version: VersionRecord, record: DocumentRecord, scope: Scope) {
  return {
    document_id: record.documentId,
    version_id: version.versionId,
    is_current: version.versionId === record.currentVersionId,
    ...(versionFields(version.language, record, scope)?.has('title') ? { title: version.title } : {}),
    body: version.body,
    language: version.language,
    published_at: formatOptionalTime(version.publishedAt),
    created_at: formatTime(version.createdAt),
  }
}

/** What may be read of a version; null where it is hidden. */
export const versionFields = (
  language: string | null,
  record: DocumentRecord,
  scope: Scope,
): ReadonlySet<FieldPermission> | null =>
  readableFields(scope, { ...record, language: versionLanguage(language, record.language) })
