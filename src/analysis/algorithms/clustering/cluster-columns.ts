export const assignmentColumns = {
  subject_id: 'text',
  document_id: 'text',
  version_id: 'text',
  cluster_id: 'textOrNull',
  strength: 'double',
} as const

export const clusterColumns = {
  cluster_id: 'text',
  size: 'int32',
  documents: 'int32',
  words: 'texts',
  central_document_ids: 'texts',
  first_published_at: 'timeOrNull',
  last_published_at: 'timeOrNull',
  platforms: 'counts',
  languages: 'counts',
  days: 'counts',
} as const

export const historyColumns = {
  cluster_id: 'text',
  run_id: 'text',
  status: 'text',
  parent_cluster_ids: 'texts',
  size: 'int32',
} as const
