import type { ChunkScore } from '../search-index.ts'
import type { Explanation, Parts } from './explain.ts'

/**
 * A result before the fields and permissions of the answer are applied. Plain data, because it is sent to the thread
 * that reads the texts.
 */
export interface FoundDocument {
  readonly documentId: string
  readonly best: ChunkScore
  /** Other matching chunks of the document, if the request wants them. */
  readonly others: readonly ChunkScore[]
  readonly score: number
  readonly keywordScore: number | null
  readonly vectorScore: number | null
  readonly rerankScore: number | null
  /** Null unless the request has `explain`. */
  readonly explanation: Explanation | null
}

/** A candidate with its best chunk and the scores of both branches. */
export interface ScoredCandidate {
  readonly documentId: string
  readonly versionId: string
  readonly chunkId: string
  /** BM25; null if no word matches. */
  readonly keyword: number | null
  /** Null without a vector. */
  readonly cosine: number | null
  /**
   * Only a long page has this candidate. It is scored relative to the candidates of every page, listed after them, and
   * not reranked.
   */
  readonly isExtra?: boolean
  /** Present if the request wants them. */
  readonly others?: readonly ChunkScore[]
  /** The parts of both scores, if the request has `explain`; the ranking adds those of its own score. */
  readonly explanation?: Explanation
}

/** The result of fusion and reranking; null if the score of the branch is final. */
export type HybridRanking = { readonly score: number; readonly fusion: Parts; readonly rerank: Parts } | null

export function foundDocument(candidate: ScoredCandidate, ranking: HybridRanking): FoundDocument {
  const { documentId, versionId, chunkId, keyword, cosine, others = [], explanation = null } = candidate
  const byBranch = keyword ?? cosine ?? 0
  return {
    documentId,
    best: { chunkId, versionId, score: byBranch },
    others,
    score: ranking?.score ?? byBranch,
    keywordScore: keyword,
    vectorScore: cosine,
    rerankScore: ranking?.score ?? null,
    explanation:
      explanation && ranking ? { ...explanation, fusion: ranking.fusion, rerank: ranking.rerank } : explanation,
  }
}
