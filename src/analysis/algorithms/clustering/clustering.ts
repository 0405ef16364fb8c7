import type { Algorithm } from '../../algorithm.ts'
import { assignmentColumns, clusterColumns, historyColumns } from './cluster-columns.ts'
import type { ClusteringParameters } from './write-clusters.ts'

const artifacts = {
  assignments: {
    description:
      'the columns `subject_id` (chunk), `document_id`, `version_id`, `cluster_id` (null for a chunk of no cluster) and ' +
      '`strength` (the share of its ties that lie within the cluster, from 0 to 1), by chunk.',
    columns: assignmentColumns,
  },
  clusters: {
    description:
      'the columns `cluster_id` (the most central chunk; of a subscription, an id that lasts), `size` (chunks), `documents`, `words` (that set it apart, of ' +
      'titles and bodies that the application may read), `central_document_ids`, `first_published_at`, ' +
      '`last_published_at`, and documents by value in `platforms`, `languages` and `days`; the largest first.',
    columns: clusterColumns,
  },
  cluster_history: {
    description:
      'the columns `cluster_id`, `run_id` (of this run), `status` (`new`, `continued`, `split`, `merged`, `gone`), ' +
      '`parent_cluster_ids` (of the run before, those first that it shares most with) and `size` (chunks), the largest ' +
      'first; what is gone has the size 0. Only runs of a subscription have it, whose clusters keep their `cluster_id` ' +
      'from run to run: ids and sizes, no text and no documents.',
    columns: historyColumns,
    ofSeries: true,
  },
} as const

export const clustering: Algorithm<ClusteringParameters, typeof artifacts> = {
  description:
    'topics: communities of chunks that are among the nearest of each other, with words, central documents and counts; what belongs to none is left without',
  needsVectors: true,
  reads: ['texts', 'documents'],
  needs: () => [['body']],
  artifacts,
  follows: 'assignments',
  // Loaded where it runs, because a native runtime comes with it.
  execute: async (...work) => (await import('./write-clusters.ts')).writeClusters(...work),
}
