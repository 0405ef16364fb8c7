import { setImmediate } from 'node:timers/promises'
import type { ChunkRecord } from '../search/version-chunks.ts'
import type { IndexChange } from './fed-index.ts'
import type { DocumentLimits, IndexSource, PreparedPortion } from './index-source.ts'
import { ChangePacker } from './pack-changes.ts'
import type { PackedField } from './packed-changes.ts'
import { prepareDocument } from './prepare-document.ts'

/** The number of characters that are analysed before other work runs: about a millisecond. */
const sliceCharacters = 4_000

/** Returns null if there is no document. */
export async function preparePortion(
  source: Pick<IndexSource, 'documentsAfter'>,
  revision: number,
  limits: DocumentLimits,
): Promise<PreparedPortion | null> {
  const documents = await source.documentsAfter(revision, limits)
  const last = documents.at(-1)
  if (last === undefined) return null
  const packer = new ChangePacker()
  const changes: IndexChange<PackedField>[] = []
  const chunks: ChunkRecord[] = []
  let characters = 0
  let sinceYield = 0
  const yieldBefore = async (more: number): Promise<void> => {
    characters += more
    sinceYield += more
    if (sinceYield < sliceCharacters) return
    sinceYield = more
    await setImmediate()
  }
  for (const document of documents) {
    const prepared = await prepareDocument(document, yieldBefore, packer.read)
    for (const change of prepared.changes) changes.push(change)
    for (const chunk of prepared.chunks) chunks.push(chunk)
  }
  // The store limits bytes, and a character has up to three.
  const isFull = documents.length >= limits.documents || characters >= limits.characters / 3
  const erased = documents.filter((one) => 'isErased' in one).length
  const counts = { documents: documents.length, erased }
  return { position: last.revision, ...counts, changes: packer.pack(changes), chunks, isFull }
}
