import type { TProperties } from 'typebox'
import { Type } from '../../../schema-types.ts'

export const clusteringParameters: TProperties = {
  min_cluster_size: Type.Optional(
    Type.Integer({
      minimum: 2,
      maximum: 1000,
      default: 5,
      description:
        'Chunks of the smallest cluster. Twice as many neighbours are looked at, 100 at the most: a larger one makes coarser topics.',
    }),
  ),
  resolution: Type.Optional(
    Type.Number({
      minimum: 0.01,
      maximum: 100,
      default: 1,
      description: 'How fine topics are told apart: more makes more and smaller ones.',
    }),
  ),
}
