import type { ColumnRow } from '../../document/rows.ts'
import type { DocumentColumns, IndexChange, IndexedChunk, PutVersion } from '../../indexing/fed-index.ts'
import { timeBuckets } from '../../platform/time-buckets.ts'
import { bucketOfDay, dayOf } from '../../search/facets.ts'
import type { ChunkVector, IndexedColumns } from '../../search/search-index.ts'
import { encodeField, wordsOf } from './encode-terms.ts'
import { documentChunksMax, documentRows, indexField, sharedRows, vectorField } from './mapping.ts'

/**
 * A document of the cluster, with all its versions, so that a version replaces another atomically. A deleted document
 * stays as the hash of its id and the number of the batch that deleted it, so that a late older batch cannot restore
 * it.
 */
export interface StoredDocument extends Partial<SharedColumns> {
  /** Absent if the document is deleted. */
  readonly id?: string
  /** The last batch of the feed that changed the document; 0 for none. */
  readonly at: number
  readonly day?: string
  readonly week?: string
  readonly month?: string
  readonly chunks: readonly StoredChunk[]
}

interface SharedColumns {
  readonly dataset: string
  readonly platform: string
  readonly region: string | null
  readonly content_type: string | null
  readonly status: string
  readonly published_at: number | null
  readonly score: number | null
  /** For a chunk, the language of its version; for a document, that of its current version. */
  readonly language: string | null
}

export interface StoredChunk extends SharedColumns {
  readonly chunk: string
  readonly version: string
  readonly current: boolean
  readonly first: boolean
  readonly title: string
  readonly title_length: number
  readonly title_words: readonly string[]
  readonly body: string
  readonly body_length: number
  readonly body_words: readonly string[]
  readonly has_body: boolean
  readonly profiles: readonly string[]
  /** Vectors, by the field of their profile. */
  readonly [vector: `v${string}`]: unknown
}

/** The dimensions of each profile's vectors. The first vector of a new profile determines them. */
export interface Dimensions {
  of(profileId: string): number | undefined
  fix(profileId: string, dimensions: number): void
}

export function changeDocument(
  before: StoredDocument | null,
  change: IndexChange,
  at: number,
  dimensions: Dimensions,
): StoredDocument | null {
  if (change.kind === 'put_version') return putVersion(before, change, at, dimensions)
  if (before === null) return null
  const { chunks } = before
  const id = change.documentId
  switch (change.kind) {
    case 'retire_document':
      return deletedBy(at)
    case 'retire_version': {
      const left = chunks.filter(({ version }) => version !== change.versionId)
      return left.length === 0 ? deletedBy(at) : withLanguage({ ...before, at, chunks: left })
    }
    case 'set_columns': {
      if (chunks.length === 0) return before
      return documentOf(
        id,
        at,
        change.columns,
        chunks.map((chunk) => ({ ...chunk, ...sharedOf(change.columns) })),
      )
    }
    case 'set_vector':
      return {
        ...before,
        at,
        chunks: chunks.map((chunk) =>
          chunk.chunk === change.chunkId ? { ...chunk, ...withVector(chunk.profiles, change, dimensions) } : chunk,
        ),
      }
  }
}

function putVersion(
  before: StoredDocument | null,
  put: PutVersion,
  at: number,
  dimensions: Dimensions,
): StoredDocument {
  const others = (before?.chunks ?? [])
    .filter(({ version }) => version !== put.versionId)
    .map((chunk) => ({ ...chunk, ...sharedOf(put.columns), current: chunk.current && !put.current }))
  const added = put.chunks.map((chunk, i) => storedChunk(put, chunk, i === 0, dimensions))
  return documentOf(put.documentId, at, put.columns, withinLimit([...others, ...added]))
}

/** Limits the number of chunks. Drops the oldest versions that are not current first. */
function withinLimit(chunks: readonly StoredChunk[]): readonly StoredChunk[] {
  let left = chunks
  while (left.length > documentChunksMax) {
    const oldest = left.find(({ current }) => !current) ?? null
    left = oldest === null ? left.slice(0, documentChunksMax) : left.filter(({ version }) => version !== oldest.version)
  }
  return left
}

function storedChunk(
  { columns, current, title, versionId }: PutVersion,
  { chunkId, body, vectors }: IndexedChunk,
  first: boolean,
  dimensions: Dimensions,
): StoredChunk {
  let vectorFields: { profiles: readonly string[] } = { profiles: [] }
  for (const vector of vectors)
    vectorFields = { ...vectorFields, ...withVector(vectorFields.profiles, vector, dimensions) }
  return {
    ...sharedOf(columns),
    language: columns.language,
    chunk: chunkId,
    version: versionId,
    current,
    first,
    title: encodeField(title),
    title_length: title.length,
    title_words: wordsOf(title),
    body: encodeField(body),
    body_length: body.length,
    body_words: wordsOf(body),
    has_body: body.terms.length > 0,
    ...vectorFields,
  }
}

/**
 * Vectors are scaled to length 1, so that no component is too large or too small for the cluster. A vector that cannot
 * be scaled, or that has other dimensions than its profile, is left out.
 */
function withVector(
  profiles: readonly string[],
  { profileId, vector }: ChunkVector,
  dimensions: Dimensions,
): { profiles: readonly string[] } {
  const unit = unitVector(vector)
  if (unit === null || (dimensions.of(profileId) ?? unit.length) !== unit.length) return { profiles }
  dimensions.fix(profileId, unit.length)
  return { profiles: [...new Set([...profiles, profileId])], [vectorField(profileId, unit.length)]: unit }
}

/** Returns `null` for a vector that is all zero or not finite. */
export function unitVector(vector: ArrayLike<number>): number[] | null {
  const floats = Float32Array.from(vector)
  const length = Math.sqrt(floats.reduce((sum, one) => sum + one * one, 0))
  if (!(length > 0) || !Number.isFinite(length)) return null
  return Array.from(floats, (one) => Math.fround(one / length))
}

/** The shared columns except the language, which depends on the version and is added by the caller. */
const sharedOf = (columns: DocumentColumns): Omit<SharedColumns, 'language'> =>
  storedColumns(
    columns,
    sharedRows.filter(({ property }) => property !== 'language'),
  ) as unknown as SharedColumns

const storedColumns = (columns: DocumentColumns, rows: readonly ColumnRow[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(rows.map((row) => [indexField(row), columns[row.property as keyof DocumentColumns]]))

function documentOf(
  id: string,
  at: number,
  columns: DocumentColumns | IndexedColumns,
  chunks: readonly StoredChunk[],
): StoredDocument {
  if (chunks.length === 0) return deletedBy(at)
  const day = columns.publishedAt === null ? Number.NaN : dayOf(columns.publishedAt)
  return withLanguage({
    id,
    at,
    ...sharedOf(columns),
    ...storedColumns(columns, documentRows),
    ...(Number.isNaN(day) ? {} : Object.fromEntries(timeBuckets.map((bucket) => [bucket, bucketOfDay(day, bucket)]))),
    chunks,
  })
}

const deletedBy = (at: number): StoredDocument => ({ at, chunks: [] })

const withLanguage = (document: StoredDocument): StoredDocument => ({
  ...document,
  language: document.chunks.find(({ current }) => current)?.language ?? null,
})
