import type { TProperties } from 'typebox'
import { choice, choices } from '../../../choice.ts'
import { Type } from '../../../schema-types.ts'
import { timeBuckets } from '../../../time-buckets.ts'
import { rollupFields } from './rollup-keys.ts'

export const featureRollupParameters: TProperties = {
  by: choices(
    'RollupField',
    rollupFields,
    'The fields to group by. `author` needs the permission `author` or `metadata`, `topic` and `tag` need `metadata`, `classification` needs `facts`.',
    4,
  ),
  bucket: Type.Optional(
    choice(timeBuckets, { description: 'Also group by publication time, in UTC. Weeks begin on Monday.' }),
  ),
}
