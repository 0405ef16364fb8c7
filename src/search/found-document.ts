import type { Explanation } from './explain.ts'
import type { ChunkScore } from './search-index.ts'

/** A result before it is put into the words and permissions of the answer. Plain data: it is sent to where texts are read. */
export interface FoundDocument {
  readonly documentId: string
  readonly best: ChunkScore
  /** Other chunks of it that match, as far as they are to be shown. */
  readonly others: readonly ChunkScore[]
  readonly score: number
  readonly keywordScore: number | null
  readonly vectorScore: number | null
  readonly rerankScore: number | null
  /** Null unless it was asked for. */
  readonly explanation: Explanation | null
}
