import { TidemarkError } from '../platform/errors.ts'

/** The roles of administrators. Each includes those before it. Each route names the role that it needs. */
export const roles = ['viewer', 'operator', 'owner'] as const
export type Role = (typeof roles)[number]

export const isRole = (value: unknown): value is Role => roles.some((one) => one === value)

/** Returns null if the role suffices. */
export function roleRefusal(has: Role, needed: Role): TidemarkError | null {
  if (roles.indexOf(has) >= roles.indexOf(needed)) return null
  return new TidemarkError('role_denied', `this needs the role ${needed}, and this admin token has the role ${has}`)
}
