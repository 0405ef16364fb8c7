import type { IndexHealth } from '../../../indexing/fed-index.ts'
import type { DurableFile } from '../file/durable-file.ts'
import { bytesByPurpose } from '../format/segment-data.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { Profile } from '../memory/thread-messages.ts'
import type { PublishedSegments } from './published-segments.ts'

export interface HealthParts {
  readonly file: DurableFile | null
  readonly damage: string
  readonly published: PublishedSegments
  readonly dictionary: TermDictionary
  readonly profiles: readonly Profile[]
  readonly merging: boolean
  readonly warnings: readonly string[]
}

export interface SegmentsHealth extends IndexHealth {
  /** Deleted chunks that take memory until they are merged away. */
  readonly deletedChunks: number
  readonly terms: number
  readonly merging: boolean
}

export function reportHealth(parts: HealthParts): SegmentsHealth {
  const { file, published, dictionary, profiles } = parts
  const { list } = published
  const memory = {
    postings: 0,
    tokens: 0,
    pairs: 0,
    ids: 0,
    columns: 0,
    deaths: 0,
    wordOrder: 0,
    vectorBits: 0,
    vectorBytes: 0,
    vectorMarks: 0,
  }
  const vectors = new Map<number, number>()
  for (const segment of list) {
    const bytes = bytesByPurpose(segment.data)
    memory.postings += bytes.postings
    memory.tokens += bytes.tokens
    memory.pairs += bytes.pairs
    memory.ids += bytes.ids
    memory.columns += bytes.columns
    memory.deaths += segment.deletedAt.byteLength + segment.deletionOrder.byteLength
    memory.wordOrder += segment.order.byteLength
    for (const [profile, { column }] of segment.columns) {
      memory.vectorBits += column.binaryCodes.byteLength
      memory.vectorBytes += column.int8Codes.byteLength
      memory.vectorMarks += column.raw.byteLength - column.binaryCodes.byteLength - column.int8Codes.byteLength
      let present = 0
      for (let row = 0; row < column.layout.rows; row++) {
        if (column.present[row] === 1 && segment.deletedAt[column.chunkOf(row)]! > published.generation) present++
      }
      vectors.set(profile, (vectors.get(profile) ?? 0) + present)
    }
  }
  const known = sum(memory)
  const memoryParts = {
    ...memory,
    dictionary: dictionary.bytes,
    /** Replaced segments that a search may still use, and rounding. */
    toBeFreed: Math.max(0, published.arena.usedBytes - known),
    /** Freed, and kept for the next segment. */
    spare: published.arena.peakBytes - published.arena.usedBytes,
  }
  const chunks = list.reduce((count, segment) => count + segment.data.chunks, 0)
  return {
    state: file === null ? 'needs_rebuild' : 'ready',
    reason: file === null ? parts.damage : '',
    searchable: file !== null,
    takesWrites: true,
    position: file?.state.position ?? 0,
    purgedThrough: file?.state.purgedThrough ?? 0,
    documents: list.reduce((documents, segment) => documents + segment.liveDocuments, 0),
    chunks: published.chunks,
    deletedChunks: chunks - published.chunks,
    terms: dictionary.size - 1,
    segments: list.length,
    merging: parts.merging,
    memoryBytes: sum(memoryParts),
    diskBytes: file?.bytes ?? 0,
    parts: memoryParts,
    profiles: profiles.map(({ number, profileId, dimensions }) => ({
      profileId,
      dimensions,
      chunks: vectors.get(number) ?? 0,
    })),
    warnings: parts.warnings,
  }
}

const sum = (bytes: Readonly<Record<string, number>>): number =>
  Object.values(bytes).reduce((total, one) => total + one, 0)
