import type { Generated } from 'kysely'

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
  rate_bucket: RateBucketRow
  audit: AuditRow
  signing_key: SigningKeyRow
  document: DocumentRow
  document_version: DocumentVersionRow
  snapshot: SnapshotRow
  fact_set: FactSetRow
  document_term: DocumentTermRow
  event: EventRow
  feed_state: FeedStateRow
  chunk: ChunkRow
  chunk_vector: ChunkVectorRow
  text_chunk: TextChunkRow
  pending_vector: PendingVectorRow
  refused_vector: RefusedVectorRow
  live_query: LiveQueryRow
  live_run: LiveRunRow
  live_item: LiveItemRow
  live_key: LiveKeyRow
  collector_poll: CollectorPollRow
  analysis_run: AnalysisRunRow
  analysis_artifact: AnalysisArtifactRow
  analysis_subscription: AnalysisSubscriptionRow
  erasure: ErasureRow
  erased_document: ErasedDocumentRow
  tombstone_key: TombstoneKeyRow
  index_copy: IndexCopyRow
}

interface DatasetRow {
  dataset_id: string
  name: string
  description: string | null
  /** Documents are erased so long after they came in; null keeps them for ever. */
  retain_days: number | null
  /** The erasure that takes its documents away and has not come to all of them yet: until then nobody reads them. */
  hidden_by: string | null
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
  /** Languages of the texts that vectors are made of, comma-separated; `*` for any; null where none are made. */
  vectors_for: string | null
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

/** Keys of every kind; `key-owners.ts` says whose they are. */
export interface ApiKeyRow {
  key_id: string
  /** A kind of credential. */
  owner_kind: string | null
  owner_id: string | null
  /** The same as the owner's id, for the two kinds that an older version knows. */
  application_id: string | null
  collector_id: string | null
  /** JSON: what the key may do, of the kinds whose owner does not say it. */
  rights: string | null
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

/** How many requests an application may make now, where several processes answer them. */
interface RateBucketRow {
  name: string
  tokens: number
  updated_at: number
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

/** The current state of a document. Lists and objects are JSON; null where nothing is known. */
export interface DocumentRow {
  document_id: string
  dataset_id: string
  source_platform: string
  external_id: string
  url: string | null
  content_type: string | null
  language: string | null
  region: string | null
  status: string
  published_at: number | null
  observed_at: number
  updated_at: number
  title: string | null
  external_author_id: string | null
  author: string | null
  topics: string | null
  tags: string | null
  facts: string | null
  /** Codes of the current category facts, document and version level together. */
  classifications: string | null
  score: number | null
  metrics: string | null
  /** The latest snapshot. */
  snapshot_id: string | null
  quality: number | null
  extra_payload: string | null
  /** Tells a changed body from a repetition without reading the old text. */
  body_hash: string | null
  current_version_id: string
  version_count: number
  /**
   * Rises over the whole instance with every change that the search index must learn of: text, and what scopes and
   * filters look at. The index is fed in this order and remembers how far it has come.
   */
  index_revision: number
}

export interface DocumentVersionRow {
  version_id: string
  document_id: string
  title: string | null
  body: string | null
  language: string | null
  published_at: number | null
  /** The document's revision when this version was made. */
  index_revision: number
}

export interface SnapshotRow {
  snapshot_id: string
  document_id: string
  observed_at: number
  score: number | null
  metrics: string | null
}

export interface FactSetRow {
  fact_set_id: string
  document_id: string
  /** The version the facts are about; null for facts about the document. */
  version_id: string | null
  facts: string
}

export interface DocumentTermRow {
  kind: number
  value: string
  dataset_id: string
  document_id: string
}

export interface EventRow {
  sequence: Generated<number>
  event_id: string
  event_type: string
  dataset_id: string
  source_platform: string
  document_id: string
  version_id: string | null
  changed_fields: string
  occurred_at: number
  observed_at: number
  ingested_at: number
}

interface FeedStateRow {
  one: number
  removed_through: number
}

/** A piece of a version's body, by its range in UTF-16 code units. A version without a body has one empty chunk. */
export interface ChunkRow {
  chunk_id: string
  document_id: string
  version_id: string
  ordinal: number
  starts_at: number
  ends_at: number
  /**
   * 1 for a chunk of a version that was cut otherwise later. It is shown where an index still finds it, and is nothing
   * else any more: it has no vector and needs none. Null for the others.
   */
  replaced: number | null
  /** Of its text; null for an empty one, and for chunks from before there were hashes. */
  text_hash: string | null
}

/** The chunks with one text. */
interface TextChunkRow {
  text_hash: string
  chunk_id: string
}

interface ChunkVectorRow {
  profile_id: string
  chunk_id: string
  /** 32-bit floats, little-endian, of length 1. */
  vector: Uint8Array
}

/** Chunks whose vector is not yet in the index. */
interface PendingVectorRow {
  profile_id: string
  chunk_id: string
}

/** Chunks whose text the embedding model will not take. */
interface RefusedVectorRow {
  profile_id: string
  chunk_id: string
}

/** A request for fresh content; one run for each platform. */
export interface LiveQueryRow {
  live_query_id: string
  application_id: string
  dataset_id: string
  resource_kind: string
  query: string
  max_items: number
  created_at: number
  deadline_at: number
  completed_at: number | null
}

/** One platform's share of a live query, and the task that collectors see: they have the same life. */
export interface LiveRunRow {
  run_id: string
  task_id: string
  live_query_id: string
  ordinal: number
  platform: string
  status: string
  items: number
  error_code: string | null
  error_message: string | null
  /** The newest lease; kept after the end, so that a repeated completion is recognised. */
  lease_id: string | null
  collector_id: string | null
  lease_expires_at: number | null
}

/** What a run brought, each document once, in the order of delivery. */
interface LiveItemRow {
  run_id: string
  position: number
  external_id: string
  document_id: string
}

/**
 * Idempotency keys, by caller, and what each made. The names are from when only live queries had them: processes of that
 * time, which may run beside newer ones during an upgrade, know no others.
 */
interface LiveKeyRow {
  application_id: string
  idempotency_key: string
  body_hash: string
  live_query_id: string
  created_at: number
}

/** When a collector last asked for tasks; an empty `resource_kind` stands for every kind. */
interface CollectorPollRow {
  collector_id: string
  platform: string
  resource_kind: string
  polled_at: number
}

export interface AnalysisRunRow {
  run_id: string
  application_id: string
  analysis_type: string
  embedding_profile_id: string | null
  input_scope: string
  parameters: string | null
  input_cutoff_at: number
  retention_days: number
  /** What the application could read when it created the run. */
  scope: string
  status: string
  progress: number
  created_at: number
  started_at: number | null
  completed_at: number | null
  expires_at: number
  error: string | null
  /** What it is computed on, as JSON; null before that is known. */
  input: string | null
  /** Codes, as JSON; null for none. */
  warnings: string | null
  /** Who works on it, and until when it is taken for alive; 0 while nobody does. */
  worker_id: string | null
  lease_until: number
  attempts: number
  /** Of a run of a subscription: which of its runs it is, and up to where it knows the feed. */
  subscription_id: string | null
  turn: number | null
  feed_sequence: number | null
}

interface AnalysisArtifactRow {
  artifact_id: string
  run_id: string
  row_count: number
  byte_count: number
  sha256: string
  name: string
}

export interface AnalysisSubscriptionRow {
  subscription_id: string
  application_id: string
  name: string
  analysis_type: string
  input_scope: string
  execution_mode: string
  embedding_profile_id: string | null
  interval_seconds: number | null
  artifact_retention_days: number | null
  paused: number
  created_at: number
  updated_at: number
  /** As the request said them, as JSON; null where it said none. */
  parameters: string | null
  /** Of the latest run; 0 before the first. */
  turn: number
  last_run_id: string | null
  /** Runs started since the last success. */
  tries: number
  /** No event of the feed up to here calls for a run any more. */
  followed_through: number
  checkpoint_sequence: number | null
  checkpoint_run_id: string | null
  checkpoint_at: number | null
}

/** A job that erases documents. */
export interface ErasureRow {
  erasure_id: string
  actor: string
  /** What is still to be found and hidden, as JSON; null when all of it is. It can name a person, so it is not kept. */
  selection: string | null
  /** Hidden so far. */
  documents: number
  /** Of those, how many nothing is left of in the store; null where nobody counted. */
  removed: number | null
  keep_tombstones: number
  purge_artifacts: number
  /** Runs of analysis that may contain one of them, as JSON. */
  artifact_run_ids: string
  /** The dataset that goes with its last document. */
  deletes_dataset: string | null
  /** `Arrivals` as JSON, until all of them are told. */
  arrivals: string | null
  status: string
  created_at: number
  completed_at: number | null
}

/** A document that is no more. The row stays for ever: copies of the index and backups of an earlier time learn of it here. */
export interface ErasedDocumentRow {
  document_id: string
  erasure_id: string
  /** In the order of the documents' own revisions: whoever follows these passes by it. */
  index_revision: number
  /** Keyed hash of dataset, platform and external id; null where the document may come in again. */
  tombstone: string | null
  /** 1 while its texts and all that was made of them are still to be removed, else null. */
  remains: number | null
}

/** What tombstones are made with, so that nobody can try out ids on them alone. */
interface TombstoneKeyRow {
  one: number
  secret: string
}

/** The search indexes that are in use, and up to which revision nothing erased is left in them. */
interface IndexCopyRow {
  copy_id: string
  purged_through: number
  seen_at: number
}
