import type { ErrorCode } from '../platform/errors.ts'
import { inFlightMaxOf, rateOf } from './policy-limits.ts'
import type { Principal, PrincipalOf } from './principal.ts'
import type { Rate } from './rate-limits.ts'
import type { Role } from './roles.ts'

/** The differences between the kinds of credentials. */
interface Kind<Who extends Principal> {
  /** The prefix of its secrets. It says what they are for, and lets secret scanners find leaks. */
  readonly prefix: string
  /** The paths that it opens, including all paths below them. */
  readonly paths: readonly string[]
  /** Its name for people, with the article. */
  readonly name: string
  /** The remedy if it is missing or wrong. */
  readonly refusal: string
  /** The codes with which any of its routes can answer before the request itself is checked. */
  readonly errors: readonly ErrorCode[]
  /** Whether the store has credentials of this kind. Others are passed to the `Authenticator`. */
  readonly isStored: boolean
  /** Whether its requests have permits of their own, so that an operator can act during an overload. */
  readonly isOperator: boolean
  /** Returns the caller's role, which limits the routes that it may use. Null if the kind has no roles. */
  readonly role: ((who: Who) => Role) | null
  /** Returns the ID of the caller, which all its keys share. Limits and idempotency keys belong to the caller. */
  caller(who: Who): string
  /** Returns the caller's rate and its limit of concurrent requests; null if it has none. */
  limits(who: Who): Limits | null
  /** Returns the application whose use is counted by day and operation; null if none. */
  counted(who: Who): string | null
  /** Returns the caller's fields for the log. */
  logged(who: Who): Readonly<Record<string, string>>
}

export interface Limits {
  readonly rate: Rate | null
  readonly inFlightMax: number
  /** The setting that sets `inFlightMax`; null if there is none. */
  readonly setting: string | null
}

const collectorInFlightMax = 32

export const credentialKinds = {
  consumer: {
    prefix: 'tmc_',
    paths: ['/v1', '/mcp'],
    name: 'an application key',
    refusal: 'send "Authorization: Bearer tmc_…" with a valid application key',
    errors: ['unauthorized', 'rate_limit_exceeded', 'overloaded'],
    isStored: true,
    isOperator: false,
    role: null,
    caller: ({ applicationId }) => applicationId,
    limits: ({ policy }) => ({
      rate: rateOf(policy),
      inFlightMax: inFlightMaxOf(policy),
      setting: 'max_in_flight',
    }),
    counted: ({ applicationId }) => applicationId,
    logged: ({ keyId, applicationId }) => ({ key: keyId, application: applicationId }),
  },
  collector: {
    prefix: 'tml_',
    paths: ['/collector/v1'],
    name: 'a collector key',
    refusal: 'send "Authorization: Bearer tml_…" with a valid collector key',
    errors: ['unauthorized', 'rate_limit_exceeded', 'overloaded'],
    isStored: true,
    isOperator: false,
    role: null,
    caller: ({ collectorId }) => collectorId,
    limits: () => ({
      rate: null,
      inFlightMax: collectorInFlightMax,
      setting: null,
    }),
    counted: () => null,
    logged: ({ keyId, collectorId }) => ({ key: keyId, collector: collectorId }),
  },
  admin: {
    prefix: 'tma_',
    paths: ['/admin/v1', '/metrics'],
    name: 'an admin token',
    // The configured token may have any form.
    refusal: 'send "Authorization: Bearer …" with a valid admin token',
    errors: ['unauthorized', 'role_denied', 'overloaded'],
    isStored: true,
    isOperator: true,
    role: ({ role }) => role,
    caller: ({ keyId }) => keyId ?? 'admin-token',
    limits: () => null,
    counted: () => null,
    logged: ({ keyId, name }) => ({ key: keyId ?? 'admin-token', ...(name === null ? {} : { admin: name }) }),
  },
} as const satisfies { readonly [Of in CredentialKind]: Kind<PrincipalOf<Of>> }

export type CredentialKind = Principal['kind']

/** Returns the kind of a principal. */
export const kindOf = ({ kind }: Principal): Kind<Principal> => credentialKinds[kind] as unknown as Kind<Principal>

/** Returns the kind of credential that opens a path; null if none is needed. */
export function credentialAt(path: string): CredentialKind | null {
  const kinds = Object.keys(credentialKinds) as CredentialKind[]
  const isBelow = (above: string): boolean => path === above || path.startsWith(`${above}/`)
  return kinds.find((kind) => credentialKinds[kind].paths.some(isBelow)) ?? null
}
