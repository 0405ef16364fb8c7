import type { Operation } from '../access/operations.ts'
import type { ErrorCode } from '../errors.ts'
import { Type } from '../schema-types.ts'
import { idOf } from '../validation.ts'

/** What every route of live queries has in common. */
export const route = (operation: Operation, ...errors: ErrorCode[]) =>
  ({ operation, invalid: 'invalid_query', unavailable: 'live_query_unavailable', errors }) as const

export const about = (summary: string, description: string) => ({ tags: ['Live'], summary, description })

export const byId = Type.Object({ live_query_id: idOf('live query') })
