import type { AnalysedField } from '../text/types.ts'
import type { IndexChange } from './fed-index.ts'
import type { PackedChanges, PackedField } from './packed-changes.ts'

/** The changes with their packed fields and their vectors. */
export function readPacked(packed: PackedChanges): readonly IndexChange<PackedField>[] {
  const changes = JSON.parse(packed.changes) as readonly IndexChange<PackedField>[]
  if (packed.vectors.length === 0) return changes
  const vectorsOf = Map.groupBy(packed.vectors, ({ chunkId }) => chunkId)
  return changes.map((change) => {
    if (change.kind !== 'put_version') return change
    const chunks = change.chunks.map((chunk) => ({ ...chunk, vectors: vectorsOf.get(chunk.chunkId) ?? [] }))
    return { ...change, chunks }
  })
}

/** The changes with terms as strings, for an index that does not use the numbers of terms. */
export function changesOf(changes: readonly IndexChange[] | PackedChanges): readonly IndexChange[] {
  if (!isPacked(changes)) return changes
  const { termText, termStarts, terms, positions } = changes
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const texts = Array.from({ length: termStarts.length - 1 }, (_, term) =>
    decoder.decode(termText.subarray(termStarts[term]!, termStarts[term + 1]!)),
  )
  const fieldOf = ([from, to, length]: PackedField): AnalysedField => ({
    terms: Array.from(terms.subarray(from, to), (term) => texts[term]!),
    positions: [...positions.subarray(from, to)],
    length,
  })
  return readPacked(changes).map((change) => {
    if (change.kind !== 'put_version') return change
    const chunks = change.chunks.map((chunk) => ({ ...chunk, body: fieldOf(chunk.body) }))
    return { ...change, title: fieldOf(change.title), chunks }
  })
}

export const isPacked = (changes: readonly IndexChange[] | PackedChanges): changes is PackedChanges =>
  !Array.isArray(changes)
