import { Type } from 'typebox'
import { choice, choices, readOnce } from '../../../platform/choice.ts'
import { timeBuckets } from '../../../platform/time-buckets.ts'
import type { Algorithm } from '../../algorithm.ts'
import type { RollupField } from './rollup-keys.ts'
import { rollupFields } from './rollup-keys.ts'
import type { RollupParameters } from './write-rollup.ts'

const parameters = {
  by: choices(
    'RollupField',
    rollupFields,
    'The fields to group by. `author` needs the permission `author` or `metadata`, `topic` and `tag` need `metadata`, `classification` needs `facts`.',
    { maxItems: 4, [readOnce]: true },
  ),
  bucket: Type.Optional(
    choice(timeBuckets, { description: 'Also group by publication time, in UTC. Weeks begin on Monday.' }),
  ),
}

const artifacts = {
  rollup: {
    description:
      'one row per combination of values, in order: the columns in `by`, `bucket` (its first day, in ' +
      'UTC; null without a time), `documents`, `authors` (distinct, by platform and ID), `score_sum`, `score_count`, and ' +
      '`<metric>_sum` and `<metric>_count` for each metric of the latest snapshots. A document with several topics, ' +
      'tags or classifications counts in the row of each; one without a value counts in the row with null. Authors, scores and ' +
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
    'the number of documents and authors, and sums of score and metrics, for every combination of the fields in `by`',
  parameters,
  needsVectors: false,
  reads: ['documents'],
  needs: ({ by }) => by.flatMap((field) => (permissions[field] === undefined ? [] : [permissions[field]])),
  artifacts,
  execute: async (...work) => (await import('./write-rollup.ts')).writeRollup(...work),
}
