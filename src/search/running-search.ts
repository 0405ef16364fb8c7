import type { Scope } from '../access/scope.ts'
import type { Caller } from '../fair-queue/caller.ts'
import type { FairSlots } from '../fair-queue/fair-slots.ts'
import type { FusionWeights } from './fuse/fusion.ts'
import type { Paging } from './parse/keyword-cursors.ts'
import type { SearchRequest } from './parse/search-request.ts'
import type { CrossEncoder } from './rerank/cross-encoder.ts'
import type { RerankWeights } from './rerank/reranker.ts'
import type { QueryEmbedders, QueryVectors } from './retrieve/query-vectors.ts'
import type { SearchDeadlines } from './retrieve/search-deadlines.ts'
import type { QueriedIndex } from './search-index.ts'
import type { SearchTexts } from './search-texts.ts'
import type { SearchTime } from './search-time.ts'
import type { Shortfalls } from './shortfall.ts'

/** The parts that every search uses. */
export interface SearcherParts extends QueryEmbedders {
  readonly index: QueriedIndex
  readonly texts: SearchTexts
  readonly weights: FusionWeights
  readonly rerankWeights: RerankWeights
  readonly turns: FairSlots
  /** Null: the built-in reranker decides the order. */
  readonly crossEncoder: CrossEncoder | null
  /** Whether the index lacks documents because it is being rebuilt. */
  readonly isRefilling: () => boolean
  /** Whether the index may lack documents that were acknowledged long ago. */
  readonly isBehind: () => boolean
}

/** One search on its way through the steps. Time in its index and its texts counts as its own. */
export interface RunningSearch extends SearcherParts {
  readonly request: SearchRequest
  readonly scope: Scope
  /** Null if the mode has no pages. */
  readonly paging: Paging | null
  readonly caller: Caller
  readonly vectors: QueryVectors
  readonly deadlines: SearchDeadlines
  /** The deadline of the keyword branch. */
  readonly wordsUntil: number
  readonly time: SearchTime
  /** Every step adds the parts of the answer that it could not give. */
  readonly shortfalls: Shortfalls
}
