import type { Static } from 'typebox'
import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import { formatOptionalTime, formatTime } from '../time.ts'
import type { Author, Document } from './answers.ts'
import type { DocumentRecord, VersionRecord } from './catalog-store.ts'

/** A document as consumers get it. Apart from the schemas, which a thread that makes answers does without. */
export interface ReadableDocument {
  readonly record: DocumentRecord
  readonly fields: ReadonlySet<FieldPermission>
}

/** The document with the fields the scope opens; null where it is not visible at all. */
export function readableDocument(record: DocumentRecord, scope: Scope): ReadableDocument | null {
  const fields = readableFields(scope, record)
  return fields === null ? null : { record, fields }
}

export function documentAnswer({ record, fields }: ReadableDocument): Static<typeof Document> {
  return {
    id: record.documentId,
    dataset_id: record.datasetId,
    source_platform: record.platform,
    external_id: record.externalId,
    url: record.url,
    ...(fields.has('title') ? { title: record.title } : {}),
    content_type: record.contentType,
    language: record.language,
    region: record.region,
    status: record.status,
    current_version_id: record.currentVersionId,
    published_at: formatOptionalTime(record.publishedAt),
    created_at: formatTime(record.createdAt),
    observed_at: formatTime(record.observedAt),
    ...(fields.has('author') || fields.has('metadata') ? { author: authorAnswer(record.author) } : {}),
    ...(fields.has('metadata') ? { topics: [...record.topics], tags: [...record.tags] } : {}),
    ...(fields.has('facts') ? { classifications: [...record.classifications] } : {}),
    ...(fields.has('metrics') ? { score: record.score } : {}),
  }
}

/** Extras stand beside the named fields and never take their place. */
export function authorAnswer(author: Readonly<Record<string, unknown>> | null): Static<typeof Author> | null {
  if (author === null) return null
  // Most have none; the general way is twice as dear, and a tenth of what an exported line costs.
  if (author.extra === undefined) return Object.assign(emptyAuthor(), author)
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

/** The text of a version, with what may be read of it. */
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
