import type { Algorithm } from '../../algorithm.ts'
import { groupColumns } from './group-columns.ts'
import type { DeduplicationParameters } from './write-groups.ts'

const artifacts = {
  groups: {
    description:
      'the columns `group_id`, `subject_id` (chunk), `document_id`, `version_id`, `is_representative`, `similarity` ' +
      '(cosine to the representative, 64 bits; 1 of the same text) and `kind` (`exact` for the same text as the ' +
      'representative, `near` for another), by group, the representative first. Chunks that are alone are left out. No text and no vectors.',
    columns: groupColumns,
  },
} as const

export const deduplication: Algorithm<DeduplicationParameters, typeof artifacts> = {
  description:
    'groups of chunks whose texts are the same but for case, blanks and punctuation, or near-identical by vector and by runs of words, each with the earliest published as its representative',
  needsVectors: true,
  reads: ['texts', 'documents'],
  needs: () => [['body']],
  artifacts,
  execute: async (...work) => (await import('./write-groups.ts')).writeGroups(...work),
}
