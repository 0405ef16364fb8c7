import { type TSchema, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { Admin, Principal } from '../access/principal.ts'
import { type Role, roleRefusal } from '../access/roles.ts'
import { type ErrorCode, invalidField, TidemarkError } from '../platform/errors.ts'
import { parseOptionalTime } from '../platform/time.ts'
import { idOf, named } from '../platform/validation.ts'
import { tagOf } from './record-tag.ts'

/** The options that all routes of the admin API share. */
export const route = (role: Role, operation: Operation, ...errors: ErrorCode[]) =>
  ({ operation, invalid: 'invalid_request', errors, role }) as const

interface AdminRequest {
  readonly principal: Principal | null
}

export function adminOf({ principal }: AdminRequest): Admin {
  if (principal?.kind === 'admin') return principal
  throw new TidemarkError('unauthorized', 'an admin token is needed')
}

/** The actor of a change in the audit log: the token's ID, which cannot be forged by a name, and its name. */
export function actorOf(request: AdminRequest): string {
  const { keyId, name } = adminOf(request)
  return keyId === null ? 'admin-api' : `${keyId} ${JSON.stringify(name)}`
}

/** Throws if the token lacks the role. For requests that need a higher role than their route. */
export function needRole(request: AdminRequest, needed: Role): void {
  const refusal = roleRefusal(adminOf(request).role, needed)
  if (refusal !== null) throw refusal
}

export const about = (summary: string, description?: string) => ({
  tags: ['Admin'],
  summary,
  ...(description === undefined ? {} : { description }),
})

/** Describes a response with a secret, which an `Idempotency-Key` cannot repeat. */
export const secretOnce =
  'The secret is only shown in this response: repeating the request with the same `Idempotency-Key` creates nothing and returns 409 `conflict` with the ID of what was created.'

export const list = <T extends TSchema>(component: string, plural: string, item: T) =>
  named(component, Type.Object({ [plural]: Type.Array(item) }))

/** Sets the `ETag` of a record on the response, for `If-Match`. */
export const tagged = <Reply extends { header(name: string, value: string): unknown }>(
  reply: Reply,
  record: object,
): Reply => {
  reply.header('etag', `"${tagOf(record)}"`)
  return reply
}

/** Path parameters with one ID. The field `application_id` is described as the ID of an application. */
export const byId = (name: string) => Type.Object({ [name]: idOf(name.replace('_id', '')) })

/** Parses the expiry of a key; null means never. */
export function futureTime(path: string, text: string | undefined): number | null {
  const time = parseOptionalTime(text)
  if (time !== null && time <= Date.now()) throw invalidField('invalid_request', path, 'must be in the future')
  return time
}
