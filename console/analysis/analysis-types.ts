/** The API's types of analysis. */
export const analysisTypes = ['knn_graph', 'clustering', 'deduplication', 'feature_rollup'] as const
export type AnalysisType = (typeof analysisTypes)[number]

export const typeWords: Readonly<Record<AnalysisType, { readonly title: string; readonly about: string }>> = {
  knn_graph: { title: 'Graph', about: 'Texts that are close in meaning, and the links between them.' },
  clustering: { title: 'Topics', about: 'Groups of texts on the same subject, with their key words.' },
  deduplication: {
    title: 'Copies',
    about: 'Identical and nearly identical texts, and who published first.',
  },
  feature_rollup: { title: 'Counts', about: 'Documents, authors and totals by platform, language, topic, time …' },
}

export interface InputScope {
  readonly dataset_ids: readonly string[]
  readonly source_platforms?: readonly string[]
  readonly languages?: readonly string[]
  readonly regions?: readonly string[]
  readonly content_types?: readonly string[]
  readonly published_from?: string
  readonly published_to?: string
  readonly created_from?: string
  readonly created_to?: string
}

interface Analysed {
  readonly analysis_type: AnalysisType
  readonly embedding_profile_id: string | null
  readonly input_scope: InputScope
  readonly parameters?: Readonly<Record<string, unknown>> | null
}

export interface Run extends Analysed {
  readonly run_id: string
  readonly subscription_id: string | null
  readonly input_cutoff_at: string
  readonly status: 'queued' | 'validating' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'expired'
  readonly progress: number
  readonly created_at: string
  readonly started_at: string | null
  readonly completed_at: string | null
  readonly expires_at: string
  readonly input: { readonly chunks: number; readonly documents: number; readonly without_vector: number } | null
  readonly warnings: readonly { readonly code: string }[]
  readonly error?: { readonly code: string; readonly message: string }
}

export interface Subscription extends Analysed {
  readonly subscription_id: string
  readonly name: string
  readonly execution_mode: 'scheduled' | 'on_change' | 'hybrid'
  readonly interval_seconds: number | null
  readonly status: 'active' | 'paused' | 'disabled' | 'reconciliation_required'
  readonly created_at: string
}

export interface Artifact {
  readonly artifact_id: string
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly expires_at: string
}

export const isUnderWay = ({ status }: Run): boolean =>
  status === 'queued' || status === 'validating' || status === 'running'
