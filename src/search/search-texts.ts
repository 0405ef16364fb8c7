import type { Scope } from '../access/scope.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { FoundDocument } from './found-document.ts'
import type { ResultField } from './result-fields.ts'

/**
 * The port: what a search makes of texts. It is made where they are read, which with the embedded store is a thread of
 * it: a page of 20 results is 21 KB, the texts that it is made from are several times that, and reading them word by
 * word was a third of what the main thread did for a search.
 */
export interface SearchTexts {
  /** What was found, in the words of the API. What is gone meanwhile, or no longer open to the scope, is left out. */
  present(page: FoundPage, scope: Scope): Promise<PresentedPage>
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
