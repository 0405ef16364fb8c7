/** The fields of catalog responses that the console reads. A field is absent if the application may not read it. */
export interface Document {
  readonly id: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly external_id: string
  readonly url: string | null
  readonly thumbnail_url?: string | null
  readonly title?: string | null
  readonly content_type: string | null
  readonly language: string | null
  readonly region: string | null
  readonly status: 'active' | 'unavailable'
  readonly current_version_id: string
  readonly published_at: string | null
  readonly created_at: string
  readonly observed_at: string
  readonly author?: Author | null
  readonly topics?: readonly string[]
  readonly tags?: readonly string[]
  readonly classifications?: readonly string[]
  readonly score?: number | null
}

export interface Author {
  readonly external_author_id: string | null
  readonly nickname: string | null
  readonly home_page: string | null
  readonly biography: string | null
  readonly follower_count: number | null
  readonly verified: boolean | null
}

export interface Detail extends Document {
  readonly version_count: number
  readonly snapshot: Snapshot | null
}

export interface Snapshot {
  readonly snapshot_id: string
  readonly observed_at: string
  readonly score: number | null
  readonly metrics: Readonly<Record<string, number>>
}

export interface Version {
  readonly version_id: string
  readonly is_current: boolean
  readonly created_at: string
  readonly title?: string | null
}

export interface Content {
  readonly version_id: string
  readonly title?: string | null
  readonly body: string | null
  readonly language: string | null
  readonly created_at: string
}
