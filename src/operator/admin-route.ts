import { type TSchema, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import { anyId } from '../validation.ts'

/** What every route of the admin API has in common. */
export const adminApiActor = 'admin-api'

export const route = (operation: Operation) => ({ operation, invalid: 'invalid_request' }) as const

export const about = (summary: string, description?: string) => ({
  tags: ['Admin'],
  summary,
  ...(description === undefined ? {} : { description }),
})

export const list = <T extends TSchema>(plural: string, item: T) => Type.Object({ [plural]: Type.Array(item) })

export const byId = (name: string) => Type.Object({ [name]: anyId })
