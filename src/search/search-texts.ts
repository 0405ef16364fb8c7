import type { Scope } from '../access/scope.ts'
import type { Embedder } from '../embedding/embedder.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { Explanation } from './explain.ts'
import type { FoundDocument } from './found-document.ts'
import type { Extremes, FusionWeights } from './fuse.ts'
import type { ResultDocument } from './index-source.ts'
import type { RerankWeights } from './rerank.ts'
import type { ResultField } from './result-fields.ts'
import type { ChunkScore, ToldColumns } from './search-index.ts'

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
  rank(ranking: CandidatesToRank, scope: Scope): Promise<RankedCandidates>
  /**
   * Both at once, of those that alone can be among the best. Null where the store says otherwise of one of them than was
   * told: then all are to be ranked.
   */
  rankLikely(ranking: LikelyToRank, shown: ShownParts, scope: Scope): Promise<RankedPage | null>
  /** Both at once, where the ranking has the last word: what was read to rank them is not read again to show them. */
  rankAndPresent(ranking: CandidatesToRank, shown: ShownParts, scope: Scope): Promise<RankedPage>
}

/** What is to be shown of results. */
export interface ShownParts {
  readonly fields: ReadonlySet<ResultField>
  readonly highlights: boolean
  readonly chunks: boolean
}

export interface FoundPage extends ShownParts {
  readonly found: readonly FoundDocument[]
  /** With the corrections. */
  readonly query: KeywordQuery
}

export interface PresentedPage {
  readonly total: number
  /** An array of results as JSON: so it goes into the answer, and so it costs least to hand on. */
  readonly results: string
}

export interface RankedCandidates {
  readonly found: readonly FoundDocument[]
  /** By which the best of them were read, in their order; empty for the others. */
  readonly texts: readonly string[]
}

export interface RankedPage {
  readonly found: readonly FoundDocument[]
  readonly page: PresentedPage
}

/** How candidates are ranked. */
export interface Ranking {
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
}

export interface CandidatesToRank extends Ranking {
  readonly candidates: readonly ScoredCandidate[]
  /** Theirs and of others, where they were read before. */
  readonly documents?: readonly ResultDocument[] | undefined
  /** The texts of so many of the best that are read are wanted too. */
  readonly textsOf: number
}

export interface LikelyToRank extends Ranking {
  readonly candidates: readonly ToldCandidate[]
  /** Others that can be among the best if their quality is high and that of some of these is low. */
  readonly byQuality: readonly ToldCandidate[]
  /** Of all candidates, as the index told of them. */
  readonly extremes: Extremes
  /** When they were chosen. */
  readonly nowMs: number
}

/** With what it was chosen by. */
export type ToldCandidate = ScoredCandidate & Pick<ToldColumns, 'language' | 'publishedAt'>

/** Its best chunk, and what both branches say of it. */
export interface ScoredCandidate {
  readonly documentId: string
  readonly versionId: string
  readonly chunkId: string
  /** BM25; null where no word matches. */
  readonly keyword: number | null
  /** Null where there is no vector. */
  readonly cosine: number | null
  /** Only a long page has it: it is measured by the others, which are there for every page, comes after them, and is not read. */
  readonly isFurther?: boolean
  /** Where they are to be shown. */
  readonly others?: readonly ChunkScore[]
  /** Of both, where that is to be shown; the ranking adds its own. */
  readonly explanation?: Explanation
}
