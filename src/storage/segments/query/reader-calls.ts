import type { MessagePort } from 'node:worker_threads'
import type {
  CountOutcome,
  CountRequest,
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  SimilarWordsOutcome,
  SimilarWordsRequest,
  ValuesOutcome,
  ValuesRequest,
  VectorOutcome,
  VectorRequest,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../../search/search-index.ts'
import type { SharedBuffers } from '../memory/published-list.ts'

export interface ReaderOptions {
  readonly path: string
  readonly reader: number
  readonly shared: SharedBuffers
  readonly writer: MessagePort
  readonly titleWeight: number
  readonly kernel: 'simd' | 'plain'
  /** Postings in a segment from which on common words are sifted. */
  readonly siftFrom?: number
}

/** A search that several threads can do together. */
export type SplitCall =
  | { readonly call: 'keyword'; readonly request: KeywordRequest }
  | { readonly call: 'vector'; readonly request: VectorRequest }

export type ReaderCall =
  | SplitCall
  | { readonly call: 'score'; readonly request: ScoreRequest }
  | { readonly call: 'similarWords'; readonly request: SimilarWordsRequest }
  | { readonly call: 'count'; readonly request: CountRequest }
  | { readonly call: 'values'; readonly request: ValuesRequest }
  | { readonly call: 'withoutVector'; readonly request: WithoutVectorRequest }

export type Outcome =
  | KeywordOutcome
  | VectorOutcome
  | SimilarWordsOutcome
  | ScoreOutcome
  | CountOutcome
  | ValuesOutcome
  | WithoutVectorOutcome

export interface SearchReply {
  readonly outcome: Outcome
  /** Names the state of the index that was searched: equal for equal states. `null` where none was. */
  readonly state: number | null
}
