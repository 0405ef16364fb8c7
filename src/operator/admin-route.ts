import type { TSchema } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { Admin, Principal } from '../access/principal.ts'
import { type Role, roleRefusal } from '../access/roles.ts'
import { type ErrorCode, invalidField, TidemarkError } from '../errors.ts'
import { Type } from '../schema-types.ts'
import { parseOptionalTime } from '../time.ts'
import { idOf, named } from '../validation.ts'
import { tagOf } from './record-tag.ts'

/** What every route of the admin API has in common. */
export const route = (role: Role, operation: Operation, ...errors: ErrorCode[]) =>
  ({ operation, invalid: 'invalid_request', errors, role }) as const

/** A request, as far as it matters here. */
interface OfAdmin {
  readonly principal: Principal | null
}

export function adminOf({ principal }: OfAdmin): Admin {
  if (principal?.kind === 'admin') return principal
  throw new TidemarkError('unauthorized', 'an admin token is needed')
}

/** Who changes something, as the audit log names them: by the token's id, which no name can look like, and its name. */
export function actorOf(request: OfAdmin): string {
  const { keyId, name } = adminOf(request)
  return keyId === null ? 'admin-api' : `${keyId} ${JSON.stringify(name)}`
}

/** Where what a request asks for needs more than its route. */
export function needRole(request: OfAdmin, needed: Role): void {
  const refusal = roleRefusal(adminOf(request).role, needed)
  if (refusal !== null) throw refusal
}

export const about = (summary: string, description?: string) => ({
  tags: ['Admin'],
  summary,
  ...(description === undefined ? {} : { description }),
})

/** Of what an `Idempotency-Key` cannot give again. */
export const secretOnce =
  'The secret is only shown in this response: repeating the request with the same `Idempotency-Key` creates nothing and returns 409 `conflict` with the ID of what was created.'

export const list = <T extends TSchema>(component: string, plural: string, item: T) =>
  named(component, Type.Object({ [plural]: Type.Array(item) }))

/** An answer about one record says by which tag its state is named (`If-Match`). */
export const tagged = <Reply extends { header(name: string, value: string): unknown }>(
  reply: Reply,
  record: object,
): Reply => {
  reply.header('etag', `"${tagOf(record)}"`)
  return reply
}

/** `application_id` is the id of an application. */
export const byId = (name: string) => Type.Object({ [name]: idOf(name.replace('_id', '')) })

/** What a key may end at; null: never. */
export function futureTime(path: string, text: string | undefined): number | null {
  const time = parseOptionalTime(text)
  if (time !== null && time <= Date.now()) throw invalidField('invalid_request', path, 'must be in the future')
  return time
}
