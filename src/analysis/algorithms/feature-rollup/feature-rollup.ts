import type { Algorithm } from '../../algorithm.ts'
import type { RollupField } from './rollup-keys.ts'
import type { RollupParameters } from './write-rollup.ts'

const artifacts = {
  rollup: {
    description:
      'one row for each combination of values, in their order: the columns named by `by`, `bucket` (the first day, in ' +
      'UTC; null without one), `documents`, `authors` (distinct, by platform and id), `score_sum`, `score_count`, and ' +
      '`<metric>_sum` and `<metric>_count` for each metric of the latest snapshots. A document with several topics, ' +
      'tags or classifications is in the row of each; one without a value is in the row of null. Authors, scores and ' +
      'metrics that the application may not read are not counted.',
    columns: null,
  },
} as const

const author = ['author', 'metadata'] as const
const permissions: Partial<Record<RollupField, typeof author | ['metadata'] | ['facts']>> = {
  author,
  topic: ['metadata'],
  tag: ['metadata'],
  classification: ['facts'],
}

export const featureRollup: Algorithm<RollupParameters, typeof artifacts> = {
  description:
    'for every combination of the named fields, how many documents and authors there are, and sums of score and metrics',
  needsVectors: false,
  reads: ['documents'],
  needs: ({ by }) => by.flatMap((field) => (permissions[field] === undefined ? [] : [permissions[field]])),
  artifacts,
  execute: async (...work) => (await import('./write-rollup.ts')).writeRollup(...work),
}
