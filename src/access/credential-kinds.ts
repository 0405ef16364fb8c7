import type { ErrorCode } from '../errors.ts'
import { inFlightMaxOf, rateOf } from './policy-limits.ts'
import type { Principal, PrincipalOf } from './principal.ts'
import type { Rate } from './rate-limits.ts'
import type { Role } from './roles.ts'

/** What differs between kinds of credentials. Nothing else asks which kind one is of. */
interface Kind<Who extends Principal> {
  /** The readable start of its secrets says what they are for, and lets secret scanners find leaks. */
  readonly prefix: string
  /** What it opens: these paths, and all below them. */
  readonly paths: readonly string[]
  /** As people call it, with its article. */
  readonly name: string
  /** What is to be done where it is missing or wrong. */
  readonly refusal: string
  /** What any of its routes can answer with, before it is even looked at what is asked. */
  readonly errors: readonly ErrorCode[]
  /** Whether the store has any of it. What comes from elsewhere is given to the `Authenticator`. */
  readonly isStored: boolean
  /** What it asks for is worked on beside all that others ask for, so that an operator can act when those are too many. */
  readonly isOperator: boolean
  /** What it may do of what its paths have: every route there says which role it needs. Null where all may do the same. */
  readonly role: ((who: Who) => Role) | null
  /** Who asks, whichever of its keys is used: limits and idempotency keys are the caller's. */
  caller(who: Who): string
  /** How often, and how many at once; null where nothing limits it. */
  limits(who: Who): Limits | null
  /** The application whose use is counted, by day and operation; null where nobody's is. */
  counted(who: Who): string | null
  /** Who it was, for the log. */
  logged(who: Who): Readonly<Record<string, string>>
}

export interface Limits {
  readonly rate: Rate | null
  readonly inFlightMax: number
  /** What sets `inFlightMax`; null where nothing does. */
  readonly setting: string | null
}

const collectorInFlightMax = 32

export const credentialKinds = {
  consumer: {
    prefix: 'tmc_',
    paths: ['/v1', '/mcp'],
    name: 'a consumer API key',
    refusal: 'send "Authorization: Bearer tmc_…" with a valid consumer API key',
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
    // One that an operator sets may begin in any way.
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

/** The kind of whoever it is, so that it can be asked about them. */
export const kindOf = ({ kind }: Principal): Kind<Principal> => credentialKinds[kind] as unknown as Kind<Principal>

/** What opens a path; null where nothing is needed. */
export function credentialAt(path: string): CredentialKind | null {
  const kinds = Object.keys(credentialKinds) as CredentialKind[]
  const isBelow = (above: string): boolean => path === above || path.startsWith(`${above}/`)
  return kinds.find((kind) => credentialKinds[kind].paths.some(isBelow)) ?? null
}
