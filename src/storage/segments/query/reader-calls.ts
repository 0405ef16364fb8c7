import type { MessagePort } from 'node:worker_threads'
import type { WithoutVectorOutcome, WithoutVectorRequest } from '../../../indexing/fed-index.ts'
import type {
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
} from '../../../search/search-index.ts'
import type { SharedBuffers } from '../memory/thread-messages.ts'

export interface ReaderOptions {
  readonly path: string
  readonly reader: number
  readonly shared: SharedBuffers
  readonly writer: MessagePort
  readonly titleWeight: number
  /** From this many postings in a segment, chunks without an essential term are skipped. */
  readonly skipFrom?: number
}

/** A search that several threads can share. */
export type SplitCall =
  | { readonly call: 'keyword'; readonly request: KeywordRequest }
  | { readonly call: 'vector'; readonly request: VectorRequest }

export type ReaderCall =
  | SplitCall
  | { readonly call: 'score'; readonly request: ScoreRequest }
  | { readonly call: 'similarWords'; readonly request: SimilarWordsRequest }
  | { readonly call: 'values'; readonly request: ValuesRequest }
  | { readonly call: 'withoutVector'; readonly request: WithoutVectorRequest }

export type Outcome =
  | KeywordOutcome
  | VectorOutcome
  | SimilarWordsOutcome
  | ScoreOutcome
  | ValuesOutcome
  | WithoutVectorOutcome

export interface SearchReply {
  readonly outcome: Outcome
  /** Identifies the state of the index that was searched: equal for equal states. `null` if no state was searched. */
  readonly state: number | null
}
