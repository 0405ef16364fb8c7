import type { Scope } from '../access/scope.ts'
import type { Embedder } from '../embedding/embedder.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { Parts } from './explain.ts'
import type { FoundDocument } from './found-document.ts'
import type { FusionWeights } from './fuse.ts'
import type { RerankWeights } from './rerank.ts'
import type { ResultField } from './result-fields.ts'

/**
 * The port: what a search makes of texts. It is made where they are read, which with the embedded store is a thread of
 * it: a page of 20 results is 21 KB, the texts that it is made from are several times that, and reading them word by
 * word was a third of what the main thread did for a search.
 */
export interface SearchTexts {
  /** What was found, in the words of the API. What is gone meanwhile, or no longer open to the scope, is left out. */
  present(page: FoundPage, scope: Scope): Promise<PresentedPage>
  /**
   * The candidates of a hybrid search, the best first: fused, and the best of them read word by word. Those that are gone
   * are left out.
   */
  rank(ranking: CandidatesToRank, scope: Scope): Promise<readonly RankedCandidate[]>
}

/** What was found, and what is to be shown of it. */
export interface FoundPage {
  readonly found: readonly FoundDocument[]
  /** With the corrections. */
  readonly query: KeywordQuery
  readonly fields: ReadonlySet<ResultField>
  readonly highlights: boolean
  readonly chunks: boolean
}

export interface PresentedPage {
  readonly total: number
  /** An array of results as JSON: so it goes into the answer, and so it costs least to hand on. */
  readonly results: string
}

export interface CandidatesToRank {
  readonly candidates: readonly ScoredCandidate[]
  readonly text: string
  readonly query: KeywordQuery
  /** Those that the query may be in; null where that is not known. */
  readonly languages: readonly string[] | null
  /** Of the default profile. */
  readonly model: Pick<Embedder, 'languages' | 'cosines'>
  /** Whether that knows the language of the query: otherwise the cosines say nothing. */
  readonly isLanguageKnown: boolean
  /** How much the words of the query are worth, 0 to 1. */
  readonly evidence: number
  readonly weights: FusionWeights
  readonly rerankWeights: RerankWeights
  /** How many of the best are wanted. */
  readonly limit: number
  /** With the parts of their scores. */
  readonly explain: boolean
  /** So many of the best come with the text that they were read by. */
  readonly textsOf: number
}

/** Its best chunk, and what both branches say of it. */
export interface ScoredCandidate {
  readonly documentId: string
  readonly versionId: string
  readonly chunkId: string
  /** BM25; null where no word matches. */
  readonly keyword: number | null
  /** Null where there is no vector. */
  readonly cosine: number | null
}

export interface RankedCandidate {
  readonly documentId: string
  readonly score: number
  readonly parts: { readonly fusion: Parts; readonly rerank: Parts } | null
  readonly text: string | null
}
