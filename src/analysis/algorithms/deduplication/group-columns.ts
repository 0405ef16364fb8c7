export const groupColumns = {
  group_id: 'text',
  subject_id: 'text',
  document_id: 'text',
  version_id: 'text',
  is_representative: 'boolean',
  similarity: 'double',
  kind: 'text',
} as const
