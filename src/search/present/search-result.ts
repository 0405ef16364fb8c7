import type { Degradation } from '../degradations.ts'
import type { Correction } from '../retrieve/correct-query.ts'
import type { Counts, PresentedPage } from '../search-texts.ts'
import type { FoundDocument } from './found-document.ts'

/** The outcome of a search. */
export interface SearchResult {
  readonly found: readonly FoundDocument[]
  /** The results in the form of the answer, without documents that were removed or are no longer visible. */
  readonly page: PresentedPage
  readonly corrections: readonly Correction[]
  readonly totalChunks: number
  readonly topK: number
  /** Null on the last page. */
  readonly cursor: string | null
  /** One entry for each requested facet. */
  readonly facets: Counts
  /** Whether all matches were counted. */
  readonly facetsExact: boolean
  /** More than one percent of the chunks that a vector search can find have no vector yet. */
  readonly vectorsPending: boolean
  readonly degradations: readonly Degradation[]
}
