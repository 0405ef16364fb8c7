import type { Scope } from '../access/scope.ts'
import type { Caller } from '../fair-queue/caller.ts'
import type { FairSlots } from '../fair-queue/fair-slots.ts'
import type { Degradations } from './degradations.ts'
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

/** The parts that every search uses. */
export interface SearcherParts extends QueryEmbedders {
  readonly index: QueriedIndex
  readonly texts: SearchTexts
  readonly weights: FusionWeights
  readonly rerankWeights: RerankWeights
  /** The fair queue for the cores that index, store and ranking share. */
  readonly slots: FairSlots
  /** Null: the built-in reranker decides the order. */
  readonly crossEncoder: CrossEncoder | null
  /** Whether the index is incomplete because it is being rebuilt. */
  readonly isRefilling: () => boolean
  /** Whether documents that were acknowledged long ago may be missing from the index. */
  readonly isBehind: () => boolean
}

/** The state of one search, shared by its steps. Calls to `index` and `texts` count towards its `time`. */
export interface RunningSearch extends SearcherParts {
  readonly request: SearchRequest
  readonly scope: Scope
  /** Null if the caller needs no cursors. */
  readonly paging: Paging | null
  readonly caller: Caller
  readonly vectors: QueryVectors
  readonly deadlines: SearchDeadlines
  /** The deadline of the keyword branch. */
  readonly keywordDeadline: number
  readonly time: SearchTime
  /** Every step adds the parts of the answer that it could not produce. */
  readonly degradations: Degradations
}
