import type { Algorithm } from '../../algorithm.ts'
import { edgeColumns } from './edge-table.ts'
import type { GraphParameters } from './write-graph.ts'

const artifacts = {
  edges: {
    description:
      'columns `source_subject_id`, `target_subject_id` (chunks), `source_document_id`, `target_document_id`, ' +
      '`source_version_id`, `target_version_id`, `rank` (from 1) and `similarity` (cosine, 64 bits), ordered by source chunk and rank.',
    columns: edgeColumns,
  },
} as const

export const knnGraph: Algorithm<GraphParameters, typeof artifacts> = {
  description: 'the nearest neighbours of every chunk by exact cosine similarity',
  needsVectors: true,
  reads: [],
  needs: () => [['body']],
  artifacts,
  // Loaded where it runs, because a native runtime comes with it.
  execute: async (...work) => (await import('./write-graph.ts')).writeGraph(...work),
}
