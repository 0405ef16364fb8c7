import { hash } from 'node:crypto'
import { versionLanguage } from '../access/scope.ts'
import { derivedId, idTimeMs } from '../ids.ts'
import { analyse } from '../text/analyse.ts'
import { chunkText } from '../text/chunk-text.ts'
import { guessLanguage } from '../text/guess-language.ts'
import type { AnalysedField } from '../text/types.ts'
import type { ChunkRecord, ErasedDocument, SourceDocument, SourceVersion } from './index-source.ts'
import type { IndexChange, IndexedChunk } from './search-index.ts'

/** Part of every chunk id: other rules make other chunks, and vectors of the old ones no longer apply. */
const chunkRules = 2

export interface PreparedDocument<Field = AnalysedField> {
  readonly changes: readonly IndexChange<Field>[]
  readonly chunks: readonly ChunkRecord[]
}

/**
 * What the index must be told of a document. Chunk ids follow from version and place, so that preparing the same
 * version again, after a crash or for a new index, gives the same chunks. `breathe` is called before each text with its
 * characters: a long document must not keep requests waiting. `read` makes a field of a text.
 */
export function prepareDocument(
  document: SourceDocument | ErasedDocument,
  breathe: (characters: number) => Promise<void>,
): Promise<PreparedDocument>
export function prepareDocument<Field>(
  document: SourceDocument | ErasedDocument,
  breathe: (characters: number) => Promise<void>,
  read: (text: string, language: string | null) => Field,
): Promise<PreparedDocument<Field>>
export async function prepareDocument(
  document: SourceDocument | ErasedDocument,
  breathe: (characters: number) => Promise<void>,
  read: (text: string, language: string | null) => AnalysedField = analyse,
): Promise<PreparedDocument> {
  const { documentId } = document
  if ('isErased' in document) return { changes: [{ kind: 'retire_document', documentId }], chunks: [] }
  const { columns } = document
  if (document.versions.length === 0) return { changes: [{ kind: 'set_columns', documentId, columns }], chunks: [] }
  const changes: IndexChange[] = []
  const chunks: ChunkRecord[] = []
  for (const version of document.versions) {
    const title = version.title ?? ''
    const body = version.body ?? ''
    // Each guessed by itself: a title that a reader may not see must not change how the body's words are read.
    const titleLanguage = version.language ?? guessLanguage(title)
    const bodyLanguage = version.language ?? guessLanguage(body)
    const vectorsOf = Map.groupBy(version.vectors, ({ chunkId }) => chunkId)
    const indexed: IndexedChunk[] = []
    for (const record of chunksOf(documentId, version)) {
      const text = body.slice(record.startsAt, record.endsAt)
      await breathe(text.length)
      indexed.push({
        chunkId: record.chunkId,
        body: read(text, bodyLanguage),
        vectors: vectorsOf.get(record.chunkId) ?? [],
      })
      chunks.push(record)
    }
    changes.push({
      kind: 'put_version',
      documentId,
      versionId: version.versionId,
      columns: { ...columns, language: versionLanguage(version.language, columns.language) },
      current: version.current,
      title: read(title, titleLanguage),
      chunks: indexed,
    })
  }
  return { changes, chunks }
}

/** A version without a body has one empty chunk, so that its title can be found. Cut as they are asked for. */
export function* chunksOf(
  documentId: string,
  { versionId, body }: Pick<SourceVersion, 'versionId' | 'body'>,
): Generator<ChunkRecord> {
  const madeAt = idTimeMs(versionId)
  const text = body ?? ''
  const record = (ordinal: number, startsAt: number, endsAt: number): ChunkRecord => ({
    chunkId: derivedId('chk', madeAt, `${chunkRules} ${versionId} ${ordinal}`),
    documentId,
    versionId,
    ordinal,
    startsAt,
    endsAt,
    textHash: endsAt > startsAt ? hash('sha256', text.slice(startsAt, endsAt), 'base64url') : null,
  })
  let ordinal = 0
  for (const { start, end } of chunkText(text)) yield record(ordinal++, start, end)
  if (ordinal === 0) yield record(0, 0, 0)
}
