import { versionLanguage } from '../access/scope.ts'
import { type ChunkRecord, chunksOf } from '../search/version-chunks.ts'
import { analyse } from '../text/analyse.ts'
import { guessLanguage } from '../text/guess-language.ts'
import type { AnalysedField } from '../text/types.ts'
import type { IndexChange, IndexedChunk } from './fed-index.ts'
import type { ErasedDocument, SourceDocument } from './index-source.ts'

export interface PreparedDocument<Field = AnalysedField> {
  readonly changes: readonly IndexChange<Field>[]
  readonly chunks: readonly ChunkRecord[]
}

/**
 * Makes the changes of a document for the index. Chunk ids follow from the version and the position of the chunk, so
 * that preparing a version again, after a crash or for a new index, gives the same chunks. `yieldBefore` is called
 * before each text with its length in characters, because a long document must not keep requests waiting. `read`
 * analyses a text as a field.
 */
export function prepareDocument(
  document: SourceDocument | ErasedDocument,
  yieldBefore: (characters: number) => Promise<void>,
): Promise<PreparedDocument>
export function prepareDocument<Field>(
  document: SourceDocument | ErasedDocument,
  yieldBefore: (characters: number) => Promise<void>,
  read: (text: string, language: string | null) => Field,
): Promise<PreparedDocument<Field>>
export async function prepareDocument(
  document: SourceDocument | ErasedDocument,
  yieldBefore: (characters: number) => Promise<void>,
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
    // Each language is guessed from its own text: a title that a reader may not see must not change how the words of
    // the body are analysed.
    const titleLanguage = version.language ?? guessLanguage(title)
    const bodyLanguage = version.language ?? guessLanguage(body)
    const vectorsOf = Map.groupBy(version.vectors, ({ chunkId }) => chunkId)
    const indexed: IndexedChunk[] = []
    for (const record of chunksOf(documentId, version)) {
      const text = body.slice(record.startsAt, record.endsAt)
      await yieldBefore(text.length)
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
