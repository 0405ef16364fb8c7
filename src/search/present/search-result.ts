import type { Correction } from '../retrieve/correct-query.ts'
import type { Counts, PresentedPage } from '../search-texts.ts'
import type { Shortfall } from '../shortfall.ts'
import type { FoundDocument } from './found-document.ts'

/** The outcome of a search. */
export interface SearchResult {
  readonly found: readonly FoundDocument[]
  /** The results in the form of the answer, without documents that are gone or no longer visible. */
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
  /** Many of the chunks that were searched by vector have no vector yet. */
  readonly vectorsPending: boolean
  readonly shortfalls: readonly Shortfall[]
}
