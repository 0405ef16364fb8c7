import { setImmediate } from 'node:timers/promises'
import type { ChunkRecord, DocumentLimits, IndexSource, PreparedPortion } from './index-source.ts'
import { prepareDocument } from './prepare-document.ts'
import type { IndexChange } from './search-index.ts'

/** Characters analysed before other work gets its turn: a millisecond or so. With 20,000 the slowest searches beside an import took half as long again. */
const breathCharacters = 4_000

/** Null where there is nothing. */
export async function preparePortion(
  source: Pick<IndexSource, 'documentsAfter'>,
  revision: number,
  limits: DocumentLimits,
): Promise<PreparedPortion | null> {
  const documents = await source.documentsAfter(revision, limits)
  const last = documents.at(-1)
  if (last === undefined) return null
  const changes: IndexChange[] = []
  const chunks: ChunkRecord[] = []
  let characters = 0
  let sinceBreath = 0
  const breathe = async (more: number): Promise<void> => {
    characters += more
    sinceBreath += more
    if (sinceBreath < breathCharacters) return
    sinceBreath = more
    await setImmediate()
  }
  for (const document of documents) {
    const prepared = await prepareDocument(document, breathe)
    changes.push(...prepared.changes)
    for (const chunk of prepared.chunks) chunks.push(chunk)
  }
  // The store cuts by bytes, of which a character has up to three.
  const isFull = documents.length >= limits.documents || characters >= limits.characters / 3
  return { position: last.revision, documents: documents.length, changes, chunks, isFull }
}
