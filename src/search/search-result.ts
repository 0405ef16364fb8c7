import type { KeywordQuery } from '../text/types.ts'
import type { Correction } from './correct-query.ts'
import type { ValueCount } from './facets.ts'
import type { FoundDocument } from './found-document.ts'
import type { PagePosition } from './keyword-cursors.ts'
import type { PresentedPage } from './search-texts.ts'
import type { Shortfall } from './shortfall.ts'

export interface SearchResult {
  readonly found: readonly FoundDocument[]
  /** Made with the ranking where that has the last word; null where it is yet to be made of what was found. */
  readonly page: PresentedPage | null
  /** With the corrections. */
  readonly query: KeywordQuery
  readonly corrections: readonly Correction[]
  readonly totalChunks: number
  readonly topK: number
  readonly next: PagePosition | null
  /** One for each facet that was asked for. */
  readonly facets: readonly (readonly ValueCount[])[]
  /** Whether all that matches was counted. */
  readonly facetsExact: boolean
  /** Many of the chunks that were searched by vector have none yet. */
  readonly vectorsPending: boolean
  readonly shortfalls: readonly Shortfall[]
}

/** A branch failed, and there is no other. */
export function nothing(query: KeywordQuery, topK: number, shortfall: Shortfall): SearchResult {
  return {
    found: [],
    page: null,
    query,
    corrections: [],
    totalChunks: 0,
    topK,
    next: null,
    facets: [],
    facetsExact: false,
    vectorsPending: false,
    shortfalls: [shortfall],
  }
}
