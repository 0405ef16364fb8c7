import { hash } from 'node:crypto'
import { derivedId, idTimeMs } from '../platform/ids.ts'
import { chunkText } from '../text/chunk-text.ts'

/** The version of the chunking rules. It is part of every chunk id, so that old vectors are not used for new chunks. */
const chunkRules = 2

/** A part of a version's body. It is the unit of the index, and results refer to it. */
export interface ChunkRecord {
  readonly chunkId: string
  readonly documentId: string
  readonly versionId: string
  readonly ordinal: number
  readonly startsAt: number
  readonly endsAt: number
  /** SHA-256 of the text; null for an empty text. */
  readonly textHash: string | null
}

/** Yields the chunks lazily. A version without a body has one empty chunk, so that its title can be found. */
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
