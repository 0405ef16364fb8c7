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
  /** Datasets that are being erased: the entries may name them, but nobody reads what is in them. */
  readonly hiddenDatasets: readonly string[]
}

export interface Collector {
  readonly kind: 'collector'
  readonly keyId: string
  readonly collectorId: string
  readonly name: string
  /** null: may write to every dataset. */
  readonly datasets: readonly string[] | null
}

export interface Admin {
  readonly kind: 'admin'
  /** Null of the token that is set or kept in the data folder: it is no key of the store. */
  readonly keyId: string | null
  /** What people call whoever has the token; null where it has no name. */
  readonly name: string | null
  readonly role: Role
}

/** Who makes a request, as far as the rest of the code needs to know. */
export type Principal = Consumer | Collector | Admin

export type PrincipalOf<Kind extends Principal['kind']> = Extract<Principal, { kind: Kind }>

/** Whose key it is: `kind` is that of the credential. One of a newer version may not be known. */
export interface OwnerId {
  readonly kind: string
  readonly id: string
}

/** The owner of a key, with all that the key stands for. */
export type KeyOwner = Omit<Consumer, 'keyId'> | Omit<Collector, 'keyId'> | Omit<Admin, 'keyId'>
