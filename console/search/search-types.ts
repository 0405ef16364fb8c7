import type { ValueCount } from '../shared/value-counts.ts'

/** The fields of search responses that the console reads. */
export interface Result {
  readonly document_id: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly title?: string | null
  readonly content_type?: string | null
  readonly language?: string | null
  readonly published_at?: string | null
  readonly status?: 'active' | 'unavailable'
  readonly url?: string | null
  readonly thumbnail_url?: string | null
  readonly author?: { readonly external_author_id: string | null; readonly nickname: string | null } | null
  readonly tags?: readonly string[]
  readonly body?: string
  readonly origin: 'indexed' | 'live'
  readonly score: number
  readonly explanation?: Explanation
  readonly highlights?: readonly string[]
}

export interface Explanation {
  readonly keyword?: Parts
  readonly vector?: Parts
  readonly fusion?: Parts
  readonly rerank?: Parts
}
export type Parts = Readonly<Record<string, number>>

export interface Found {
  readonly mode: 'keyword' | 'vector' | 'hybrid'
  readonly results: readonly Result[]
  readonly cursor?: string
  readonly corrections?: readonly { readonly from: string; readonly to: string }[]
  readonly facets?: Readonly<Record<string, readonly ValueCount[]>>
  readonly facets_exact?: boolean
  readonly degraded: boolean
  readonly warnings: readonly { readonly code: string }[]
  readonly live_query: LiveQuery | null
}

export interface LiveQuery {
  readonly id: string
  readonly status: 'pending' | 'running' | 'completed' | 'partial' | 'failed'
  readonly runs: readonly {
    readonly id: string
    readonly platform: string
    readonly status: string
    readonly items: number
    readonly error: { readonly message: string } | null
  }[]
}
