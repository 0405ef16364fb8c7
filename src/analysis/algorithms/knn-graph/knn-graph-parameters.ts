import type { TProperties } from 'typebox'
import { Type } from '../../../schema-types.ts'

export const knnGraphParameters: TProperties = {
  k: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 30, description: 'The maximum number of neighbours per chunk.' }),
  ),
  min_similarity: Type.Optional(
    Type.Number({ minimum: -1, maximum: 1, description: 'Leave out edges with a lower cosine similarity.' }),
  ),
}
