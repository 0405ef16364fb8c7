import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import type { InputColumn, InputDocument, InputPortion } from './algorithm.ts'
import type { AnalysisStore, InputRow } from './analysis-store.ts'

/** Rows read by one call to the store, about 1 MB. */
const rowsAtOnce = 256

/** The fields to read for each row, and the scopes to read them under. */
export interface InputReading {
  /** Null if the rows are documents. */
  readonly profileId: string | null
  readonly dimensions: number
  readonly reads: readonly InputColumn[]
  /** Only fields that all of them open are read. */
  readonly scopes: readonly Scope[]
  readonly cutoffAt: number
}

/**
 * Reads the rows of a run for its algorithm, in order. Leaves out a row of which a part was deleted meanwhile, or whose
 * vector has other dimensions than the profile.
 */
export async function* inputPortions(
  rows: readonly InputRow[],
  reading: InputReading,
  store: AnalysisStore,
): AsyncGenerator<InputPortion> {
  const { profileId, dimensions, reads, scopes, cutoffAt } = reading
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const some = rows.slice(start, start + rowsAtOnce)
    const chunkIds = some.flatMap(({ chunkId }) => chunkId ?? [])
    const vectorOf = profileId === null ? null : await vectorsOf(chunkIds, profileId, store)
    const textOf = reads.includes('texts') ? await textsOf(chunkIds, store) : null
    const documentOf = reads.includes('documents') ? await documentsOf(some, scopes, cutoffAt, store) : null
    const usable = some.filter(
      ({ chunkId, versionId }) =>
        (vectorOf === null || vectorOf.get(chunkId!)?.length === dimensions) &&
        (textOf === null || textOf.has(chunkId!)) &&
        (documentOf === null || documentOf.has(versionId)),
    )
    const vectors = new Float32Array(usable.length * dimensions)
    for (const [i, { chunkId }] of usable.entries()) vectors.set(vectorOf?.get(chunkId!) ?? [], i * dimensions)
    yield {
      chunkIds: usable.flatMap(({ chunkId }) => chunkId ?? []),
      documentIds: usable.map(({ documentId }) => documentId),
      versionIds: usable.map(({ versionId }) => versionId),
      vectors,
      texts: textOf === null ? [] : usable.map(({ chunkId }) => textOf.get(chunkId!)!),
      documents: documentOf === null ? [] : usable.map(({ versionId }) => documentOf.get(versionId)!),
    }
  }
}

async function vectorsOf(
  chunkIds: readonly string[],
  profileId: string,
  store: AnalysisStore,
): Promise<ReadonlyMap<string, Float32Array>> {
  return new Map((await store.chunkVectors(profileId, chunkIds)).map(({ chunkId, vector }) => [chunkId, vector]))
}

async function textsOf(chunkIds: readonly string[], store: AnalysisStore): Promise<ReadonlyMap<string, string>> {
  return new Map((await store.inputTexts(chunkIds)).map(({ chunkId, text }) => [chunkId, text]))
}

async function documentsOf(
  rows: readonly InputRow[],
  scopes: readonly Scope[],
  cutoffAt: number,
  store: AnalysisStore,
): Promise<ReadonlyMap<string, InputDocument>> {
  const found = await store.inputDocuments([...new Set(rows.map(({ versionId }) => versionId))], cutoffAt)
  return new Map(
    found.flatMap(({ versionId, document }) => {
      const readable = readablePart(document, scopes)
      return readable === null ? [] : [[versionId, readable]]
    }),
  )
}

/** Returns the fields of a document that all of the scopes open; null if one of them does not open the document. */
function readablePart(document: InputDocument, scopes: readonly Scope[]): InputDocument | null {
  const opened = scopes.flatMap((scope) => readableFields(scope, document) ?? [])
  if (opened.length < scopes.length) return null
  const may = (...any: readonly FieldPermission[]): boolean =>
    opened.every((fields) => any.some((field) => fields.has(field)))
  return {
    ...document,
    title: may('title') ? document.title : null,
    authorId: may('author', 'metadata') ? document.authorId : null,
    topics: may('metadata') ? document.topics : [],
    tags: may('metadata') ? document.tags : [],
    classifications: may('facts') ? document.classifications : [],
    score: may('metrics') ? document.score : null,
    metrics: may('metrics') ? document.metrics : {},
  }
}

/**
 * Returns the dimensions of a profile; if its endpoint has not reported them yet, those of the first vector. Returns 0
 * without a profile.
 */
export async function dimensionsOf(
  rows: readonly InputRow[],
  profileId: string | null,
  store: AnalysisStore,
): Promise<number> {
  if (profileId === null) return 0
  const known = (await store.profile(profileId))?.dimensions ?? null
  if (known !== null || rows.length === 0) return known ?? 1
  const [first] = await store.chunkVectors(profileId, [rows[0]!.chunkId!])
  return first?.vector.length ?? 1
}
