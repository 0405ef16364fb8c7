import { Type } from 'typebox'
import type { Algorithm } from '../../algorithm.ts'
import { edgeColumns } from './edge-table.ts'
import type { GraphParameters } from './write-graph.ts'

const parameters = {
  k: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 30, description: 'The maximum number of neighbours per chunk.' }),
  ),
  min_similarity: Type.Optional(
    Type.Number({ minimum: -1, maximum: 1, description: 'Leave out edges with a lower cosine similarity.' }),
  ),
}

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
  parameters,
  needsVectors: true,
  reads: [],
  needs: () => [['body']],
  artifacts,
  // Loaded only in the process that executes it, because it brings a native runtime.
  execute: async (...work) => (await import('./write-graph.ts')).writeGraph(...work),
}
