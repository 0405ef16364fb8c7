import { Type } from 'typebox'
import type { Algorithm } from '../../algorithm.ts'
import { groupColumns } from './group-columns.ts'
import type { DeduplicationParameters } from './write-groups.ts'

const parameters = {
  threshold: Type.Optional(
    Type.Number({
      minimum: 0.5,
      maximum: 1,
      default: 0.95,
      description: 'The minimum cosine similarity of a near duplicate to the representative of its group.',
    }),
  ),
}

const artifacts = {
  groups: {
    description:
      'columns `group_id`, `subject_id` (chunk), `document_id`, `version_id`, `is_representative`, `similarity` ' +
      '(cosine to the representative, 64 bits; 1 for the same text) and `kind` (`exact` for the same text as the ' +
      'representative, otherwise `near`), ordered by group, representative first. Groups of one are left out.',
    columns: groupColumns,
  },
} as const

export const deduplication: Algorithm<DeduplicationParameters, typeof artifacts> = {
  description:
    'groups of copies: chunks with the same text apart from case, spaces and punctuation, or nearly the same by vector and by word sequences; the earliest published is the representative',
  parameters,
  needsVectors: true,
  reads: ['texts', 'documents'],
  needs: () => [['body']],
  artifacts,
  execute: async (...work) => (await import('./write-groups.ts')).writeGroups(...work),
}
