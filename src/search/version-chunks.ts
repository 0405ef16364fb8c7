import { hash } from 'node:crypto'
import { derivedId, idTimeMs } from '../platform/ids.ts'
import { chunkText } from '../text/chunk-text.ts'

/** Part of every chunk id: other rules make other chunks, and vectors of the old ones no longer apply. */
const chunkRules = 2

/** A part of a version's body: the unit that the index holds and that a result names. */
export interface ChunkRecord {
  readonly chunkId: string
  readonly documentId: string
  readonly versionId: string
  readonly ordinal: number
  readonly startsAt: number
  readonly endsAt: number
  /** Equal for equal texts only; null for an empty text. */
  readonly textHash: string | null
}

/** Cuts lazily. A version without a body has one empty chunk, so that its title can be found. */
export function* chunksOf(
  documentId: string,
  { versionId, body }: { readonly versionId: string; readonly body: string | null },
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
