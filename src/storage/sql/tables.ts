/**
 * The tables as Kysely sees them, the same on every dialect: text ids, whole milliseconds for times, JSON as text,
 * 0 or 1 for yes and no. Which indexes stand on them is in `migrations/`.
 */
export interface Tables {
  dataset: DatasetRow
  classification: ClassificationRow
  embedding_profile: EmbeddingProfileRow
  application: ApplicationRow
  entitlement: EntitlementRow
  collector: CollectorRow
  api_key: ApiKeyRow
  usage: UsageRow
  audit: AuditRow
  signing_key: SigningKeyRow
}

interface DatasetRow {
  dataset_id: string
  name: string
  description: string | null
  created_at: number
  updated_at: number
}

interface ClassificationRow {
  dataset_id: string
  code: string
  name: string
  description: string | null
  label_schema: string
  active: number
  created_at: number
  updated_at: number
}

interface EmbeddingProfileRow {
  profile_id: string
  provider: string
  model: string
  dimensions: number | null
  status: string
  is_default: number
  created_at: number
  updated_at: number
}

interface ApplicationRow {
  application_id: string
  name: string
  policy: string
  created_at: number
  updated_at: number
}

interface EntitlementRow {
  entitlement_id: string
  application_id: string
  position: number
  entry: string
}

interface CollectorRow {
  collector_id: string
  name: string
  /** JSON list, or null for every dataset. */
  datasets: string | null
  created_at: number
}

/** Consumer and collector keys alike; exactly one of the two owners is set. */
interface ApiKeyRow {
  key_id: string
  application_id: string | null
  collector_id: string | null
  name: string | null
  /** The first characters of the key, enough to recognise it, useless to guess it. */
  prefix: string
  /** SHA-256 of the whole key, in hex. */
  hash: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}

interface UsageRow {
  application_id: string
  /** UTC calendar day, 2026-11-15. */
  day: string
  operation: string
  used: number
}

interface AuditRow {
  audit_id: string
  at: number
  actor: string
  action: string
  target: string
  detail: string
}

/** Secrets that sign cursors. The newest signs; older ones still verify until they are removed. */
interface SigningKeyRow {
  key_id: string
  secret: string
  created_at: number
}
