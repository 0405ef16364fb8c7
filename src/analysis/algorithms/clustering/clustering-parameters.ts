import type { TProperties } from 'typebox'
import { Type } from '../../../schema-types.ts'

export const clusteringParameters: TProperties = {
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
