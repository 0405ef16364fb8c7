import type { TProperties } from 'typebox'
import { Type } from '../../../schema-types.ts'

export const deduplicationParameters: TProperties = {
  threshold: Type.Optional(
    Type.Number({
      minimum: 0.5,
      maximum: 1,
      default: 0.95,
      description: 'The minimum cosine similarity of a near duplicate to the representative of its group.',
    }),
  ),
}
