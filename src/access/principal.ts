import type { EntitlementInput } from './entitlement.ts'
import type { Policy } from './policy.ts'
import type { Role } from './roles.ts'
import type { ScopeEntry } from './scope.ts'

export interface Consumer {
  readonly kind: 'consumer'
  readonly keyId: string
  readonly applicationId: string
  readonly name: string
  readonly policy: Policy
  readonly entitlements: readonly (EntitlementInput & { entitlement_id: string })[]
  /** The same entitlements in the form that `compileScope` takes. */
  readonly entries: readonly ScopeEntry[]
  /** Datasets that are being erased. Entries may name them, but their documents are not readable. */
  readonly hiddenDatasets: readonly string[]
}

export interface Collector {
  readonly kind: 'collector'
  readonly keyId: string
  readonly collectorId: string
  readonly name: string
  /** Null allows every dataset. */
  readonly datasets: readonly string[] | null
}

export interface Admin {
  readonly kind: 'admin'
  /** Null for the token from the settings or the data folder, which is not a key of the store. */
  readonly keyId: string | null
  /** The name of the token's holder; null if it has none. */
  readonly name: string | null
  readonly role: Role
}

/** The authenticated caller of a request. */
export type Principal = Consumer | Collector | Admin

export type PrincipalOf<Kind extends Principal['kind']> = Extract<Principal, { kind: Kind }>

/** The owner of a key. `kind` is a kind of credential, perhaps one that only a newer release knows. */
export interface OwnerId {
  readonly kind: string
  readonly id: string
}

/** The owner of a key, with all rights of the key. */
export type KeyOwner = Omit<Consumer, 'keyId'> | Omit<Collector, 'keyId'> | Omit<Admin, 'keyId'>
