import { Type } from 'typebox'
import type { Algorithm } from '../../algorithm.ts'
import { assignmentColumns, clusterColumns, historyColumns } from './cluster-columns.ts'
import type { ClusteringParameters } from './write-clusters.ts'

const parameters = {
  min_cluster_size: Type.Optional(
    Type.Integer({
      minimum: 2,
      maximum: 1000,
      default: 5,
      description:
        'The size of the smallest cluster, in chunks. The algorithm looks at twice as many neighbours (at most 100), so a larger value gives coarser topics.',
    }),
  ),
  resolution: Type.Optional(
    Type.Number({
      minimum: 0.01,
      maximum: 100,
      default: 1,
      description: 'A higher value gives more and smaller topics.',
    }),
  ),
}

const artifacts = {
  assignments: {
    description:
      'columns `subject_id` (chunk), `document_id`, `version_id`, `cluster_id` (null if the chunk is in no cluster) and ' +
      '`strength` (the share of its links that stay inside the cluster, 0 to 1), ordered by chunk.',
    columns: assignmentColumns,
  },
  clusters: {
    description:
      'columns `cluster_id` (the most central chunk; in a subscription, a lasting ID), `size` (chunks), `documents`, `words` (characteristic words from ' +
      'titles and bodies that the application may read), `central_document_ids`, `first_published_at`, ' +
      '`last_published_at`, and the number of documents by value in `platforms`, `languages` and `days`; largest first.',
    columns: clusterColumns,
  },
  cluster_history: {
    description:
      'columns `cluster_id`, `run_id` (of this run), `status` (`new`, `continued`, `split`, `merged`, `gone`), ' +
      '`parent_cluster_ids` (clusters of the previous run, largest overlap first) and `size` (chunks; 0 if gone), largest ' +
      'first. Only for runs of a subscription, whose clusters keep their `cluster_id` from run to run.',
    columns: historyColumns,
    ofSeries: true,
  },
} as const

export const clustering: Algorithm<ClusteringParameters, typeof artifacts> = {
  description:
    'topics: groups of chunks that are close to each other, with characteristic words, central documents and counts; chunks that fit nowhere have no topic',
  parameters,
  needsVectors: true,
  reads: ['texts', 'documents'],
  needs: () => [['body']],
  artifacts,
  follows: 'assignments',
  // Loaded only in the process that executes it, because it brings a native runtime.
  execute: async (...work) => (await import('./write-clusters.ts')).writeClusters(...work),
}
