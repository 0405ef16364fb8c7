import type { Scope } from '../access/scope.ts'
import type { Embedder } from '../embedding/embedder.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { ValueCount } from './facets.ts'
import type { FusionWeights } from './fuse/fusion.ts'
import type { FoundDocument, ScoredCandidate } from './present/found-document.ts'
import type { ResultField } from './present/result-fields.ts'
import type { ResultItem } from './present/result-item.ts'
import type { RerankWeights } from './rerank/reranker.ts'
import type { FacetsRequest } from './search-index.ts'

/**
 * The part of a search that works on stored texts. It runs where the texts are read, which is a reader thread in the
 * embedded store. The main thread then neither receives nor analyses the texts, which are several times as large as the
 * page.
 */
export interface SearchTexts {
  /**
   * The found documents as results of the API. Documents that were removed, or that the scope no longer opens, are left
   * out.
   */
  present(page: FoundPage, scope: Scope): Promise<PresentedPage>
  /**
   * Ranks the candidates of a hybrid search, best first: fuses them and reranks the best. Removed candidates are left
   * out. If this ranking is final, the caller passes `shown`, and the page is made too, so that texts are not read
   * twice.
   */
  rank(ranking: CandidatesToRank, shown: ShownParts | null, scope: Scope): Promise<Ranked>
  /** Counts candidates, which the index cannot count: one entry for each requested facet. */
  count(candidates: readonly FoundVersion[], facets: FacetsRequest, scope: Scope): Promise<Counts>
}

export interface FoundVersion {
  readonly documentId: string
  readonly versionId: string
}

export type Counts = readonly (readonly ValueCount[])[]

/** The parts of a result that are shown. */
export interface ShownParts {
  readonly fields: ReadonlySet<ResultField>
  readonly highlights: boolean
  readonly chunks: boolean
}

export interface FoundPage extends ShownParts {
  readonly found: readonly FoundDocument[]
  /** Includes the corrections. */
  readonly query: KeywordQuery
}

export interface PresentedPage {
  readonly results: readonly ResultItem[]
}

export interface Ranked {
  readonly found: readonly FoundDocument[]
  /**
   * The texts of the best reranked candidates, in order; empty for the others. The list is empty if the page was made.
   */
  readonly texts: readonly string[]
  /** Null if the page has not been made yet. */
  readonly page: PresentedPage | null
}

/** The parameters of the ranking. */
export interface Ranking {
  readonly text: string
  readonly query: KeywordQuery
  /** The possible languages of the query; null if they are unknown. */
  readonly languages: readonly string[] | null
  /** The model of the default profile. */
  readonly model: Pick<Embedder, 'languages' | 'cosines'>
  /** Whether the model knows the language of the query. Otherwise its cosines are meaningless. */
  readonly isLanguageKnown: boolean
  /** How much the words of the query are worth, 0 to 1. */
  readonly evidence: number
  readonly weights: FusionWeights
  readonly rerankWeights: RerankWeights
  /** The number of requested results. */
  readonly limit: number
}

export interface CandidatesToRank extends Ranking {
  readonly candidates: readonly ScoredCandidate[]
  /** The number of best reranked candidates whose texts are returned. */
  readonly textsOf: number
}
