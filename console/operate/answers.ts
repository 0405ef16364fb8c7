// Responses of the admin API, with the fields that the views read.

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

/** One entry of an application's entitlements. An absent list limits nothing. */
export interface EntitlementEntry {
  readonly datasets: readonly string[]
  readonly platforms?: readonly string[]
  readonly languages?: readonly string[]
  readonly regions?: readonly string[]
  readonly published_from?: string
  readonly published_to?: string
  readonly fields?: readonly string[]
}

export interface Application {
  readonly application_id: string
  readonly name: string
  readonly policy: Readonly<Record<string, unknown>>
  readonly entitlements: readonly (EntitlementEntry & { readonly entitlement_id: string })[]
  readonly created_at: string
  readonly updated_at: string
}

export interface Key {
  readonly key_id: string
  readonly application_id: string | null
  readonly collector_id: string | null
  readonly name: string | null
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}

export interface Dataset {
  readonly dataset_id: string
  readonly name: string
  readonly description: string | null
  readonly retain_days: number | null
  readonly created_at: string
}

export interface EntitlementCount {
  readonly documents: number
  readonly datasets: readonly { readonly dataset_id: string; readonly documents: number }[]
}

export interface Classification {
  readonly code: string
  readonly name: string
  readonly description: string | null
  readonly label_schema: Readonly<Record<string, unknown>>
  readonly active: boolean
}
