import type { Static } from 'typebox'
import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import type { FieldKind } from '../document/fields.ts'
import { answerRows, opensField } from '../document/rows.ts'
import { formatOptionalTime, formatTime } from '../platform/time.ts'
import type { Author, Document } from './answers.ts'
import type { DocumentRecord, VersionRecord } from './catalog-store.ts'

/** A document with the permissions that the application has for it. */
export interface ReadableDocument {
  readonly record: DocumentRecord
  readonly fields: ReadonlySet<FieldPermission>
}

/** Returns null if the scope hides the document. */
export function readableDocument(record: DocumentRecord, scope: Scope): ReadableDocument | null {
  const fields = readableFields(scope, record)
  return fields === null ? null : { record, fields }
}

export function documentAnswer({ record, fields }: ReadableDocument): Static<typeof Document> {
  const answer: Record<string, unknown> = {}
  for (const row of answerRows) {
    if (opensField(row, fields)) answer[row.name] = answerValue(row.kind, record[row.property as keyof DocumentRecord])
  }
  return answer as Static<typeof Document>
}

function answerValue(kind: FieldKind, value: unknown): unknown {
  switch (kind) {
    case 'time':
      return formatOptionalTime(value as number | null)
    case 'texts':
      return [...(value as readonly string[])]
    case 'author':
      return authorAnswer(value as DocumentRecord['author'])
    default:
      return value
  }
}

/** Extra fields of an author are added to the named ones and never replace them. */
export function authorAnswer(author: Readonly<Record<string, unknown>> | null): Static<typeof Author> | null {
  if (author === null) return null
  const { extra, ...named } = author
  return { ...(extra as object), ...emptyAuthor(), ...named } as Static<typeof Author>
}

const emptyAuthor = (): { readonly [Field in keyof (typeof Author)['properties']]: null } => ({
  external_author_id: null,
  nickname: null,
  avatar_url: null,
  home_page: null,
  biography: null,
  follower_count: null,
  following_count: null,
  verified: null,
})

/** The text of a version. The title is left out if it may not be read. */
export function contentAnswer(version: VersionRecord, record: DocumentRecord, fields: ReadonlySet<FieldPermission>) {
  return {
    document_id: record.documentId,
    version_id: version.versionId,
    is_current: version.versionId === record.currentVersionId,
    ...(fields.has('title') ? { title: version.title } : {}),
    body: version.body,
    language: version.language,
    published_at: formatOptionalTime(version.publishedAt),
    created_at: formatTime(version.createdAt),
  }
}
