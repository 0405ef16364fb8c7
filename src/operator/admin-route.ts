import { type TSchema, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { ErrorCode } from '../errors.ts'
import { idOf, named } from '../validation.ts'

/** What every route of the admin API has in common. */
export const adminApiActor = 'admin-api'

export const route = (operation: Operation, ...errors: ErrorCode[]) =>
  ({ operation, invalid: 'invalid_request', errors }) as const

export const about = (summary: string, description?: string) => ({
  tags: ['Admin'],
  summary,
  ...(description === undefined ? {} : { description }),
})

export const list = <T extends TSchema>(component: string, plural: string, item: T) =>
  named(component, Type.Object({ [plural]: Type.Array(item) }))

/** `application_id` is the id of an application. */
export const byId = (name: string) => Type.Object({ [name]: idOf(name.replace('_id', '')) })
