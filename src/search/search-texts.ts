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
 * The port: the part of a search that works on texts of the store. It runs where the texts are read, which is a thread
 * of the embedded store: a page of 20 results has 21 KB, the texts behind it have several times that, and analysing
 * them was a third of the main thread's work for a search.
 */
export interface SearchTexts {
  /**
   * The found documents as results of the API. Documents that are gone, or no longer open to the scope, are left out.
   */
  present(page: FoundPage, scope: Scope): Promise<PresentedPage>
  /**
   * Ranks the candidates of a hybrid search, best first: fuses them and reranks the best. Removed candidates are left
   * out. If this ranking is final, `shown` is given and the page is made too, so that texts that were read for the
   * ranking are not read again.
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
   * The texts that the best candidates were reranked by, in order; empty for the others. The list is empty if the page
   * was made.
   */
  readonly texts: readonly string[]
  /** Null if the page is still to be made. */
  readonly page: PresentedPage | null
}

/** The rules that candidates are ranked by. */
export interface Ranking {
  readonly text: string
  readonly query: KeywordQuery
  /** The languages that the query may be in; null if they are not known. */
  readonly languages: readonly string[] | null
  /** The model of the default profile. */
  readonly model: Pick<Embedder, 'languages' | 'cosines'>
  /** Whether the model knows the language of the query: otherwise its cosines mean nothing. */
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
