import type { FieldPermission } from '../access/scope.ts'
import type { DocumentRecord, VersionRecord } from '../catalog/catalog-store.ts'
import { contentAnswer, documentAnswer } from '../catalog/document-answer.ts'

/** A version, with the fields that may be read. */
export interface ReadableVersion {
  readonly version: VersionRecord
  readonly fields: ReadonlySet<FieldPermission>
}

/**
 * Returns the line of a document: the document as in batch-get, and its text as in `…/content`. The content is null
 * without the permission `body`.
 */
export function documentLine(
  record: DocumentRecord,
  fields: ReadonlySet<FieldPermission>,
  current: ReadableVersion,
): string {
  const content = current.fields.has('body') ? contentAnswer(current.version, record, current.fields) : null
  return exportLine({ type: 'document', document: documentAnswer({ record, fields }), content })
}

/** Returns the line of an earlier version. A reader may see it and not its document, if they differ in language. */
export const versionLine = (record: DocumentRecord, { version, fields }: ReadableVersion): string =>
  exportLine({ type: 'version', content: contentAnswer(version, record, fields) })

export const exportLine = (line: object): string => `${JSON.stringify(line)}\n`
