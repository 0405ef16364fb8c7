import type { Algorithm } from '../../algorithm.ts'
import { edgeColumns } from './edge-table.ts'
import type { GraphParameters } from './write-graph.ts'

const artifacts = {
  edges: {
    description:
      'the columns `source_subject_id`, `target_subject_id` (chunks), `source_document_id`, `target_document_id`, ' +
      '`source_version_id`, `target_version_id`, `rank` (from 1) and `similarity` (cosine, 64 bits), by source chunk and rank. No text and no vectors.',
    columns: edgeColumns,
  },
} as const

export const knnGraph: Algorithm<GraphParameters, typeof artifacts> = {
  description: 'for every chunk of the input, the exact cosine top-K among the chunks of the input',
  needsVectors: true,
  reads: [],
  needs: () => [['body']],
  artifacts,
  // Loaded where it runs, because a native runtime comes with it.
  execute: async (...work) => (await import('./write-graph.ts')).writeGraph(...work),
}
