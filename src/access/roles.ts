import { TidemarkError } from '../errors.ts'

/** What an administrator may do; each may all that those before it may. Which one a route needs stands with the route. */
export const roles = ['viewer', 'operator', 'owner'] as const
export type Role = (typeof roles)[number]

export const isRole = (value: unknown): value is Role => roles.some((one) => one === value)

/** Null where the role suffices. */
export function roleRefusal(has: Role, needed: Role): TidemarkError | null {
  if (roles.indexOf(has) >= roles.indexOf(needed)) return null
  return new TidemarkError('role_denied', `this needs the role ${needed}, and this admin token has the role ${has}`)
}
