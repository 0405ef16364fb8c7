import { Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { ErrorCode } from '../platform/errors.ts'
import { idOf } from '../platform/validation.ts'

/** The options that all routes of live queries share. */
export const route = (operation: Operation, ...errors: ErrorCode[]) =>
  ({ operation, invalid: 'invalid_query', unavailable: 'live_query_unavailable', errors }) as const

export const about = (summary: string, description: string) => ({ tags: ['Live'], summary, description })

export const byId = Type.Object({ live_query_id: idOf('live query') })
