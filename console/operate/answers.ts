/** Answers of the admin API, as far as the views read them. */
export interface Indexing {
  readonly pending_documents: number
  readonly pending_vectors: number
  readonly documents_per_second: number | null
  readonly vectors_per_second: number | null
  readonly vectors_ready_in_seconds: number | null
  readonly oldest_pending_seconds: number | null
  readonly indexed_documents: number
  readonly indexed_chunks: number
  readonly memory_bytes: number
  readonly disk_bytes: number
  readonly warnings: readonly string[]
}

export interface Finding {
  readonly state: 'ok' | 'warning' | 'failure'
  readonly about: string
  readonly advice: string | null
}
