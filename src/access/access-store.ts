import type { SigningKey } from '../platform/cursors.ts'
import type { Claim, KeptClaim } from './claim.ts'
import type { KeyOwner } from './principal.ts'
import type { Rate } from './rate-limits.ts'

/** The port: the part of the store that authentication and limits use. */
export interface AccessStore {
  /** Returns the key with that SHA-256 hash and its current owner; null if there is none. */
  findKey(hash: string): Promise<KeyWithOwner | null>
  /**
   * Returns the unexpired claim with this idempotency key of the caller, whatever its request; null if there is none.
   */
  findClaim(claim: Pick<Claim, 'caller' | 'key'>, nowMs: number): Promise<KeptClaim | null>
  /** Takes one unit for each take whose limit is not reached. Decides the takes of one call in order. */
  takeQuota(takes: readonly QuotaTake[]): Promise<readonly QuotaResult[]>
  /** Takes one token for each take, from buckets that all processes share. Decides the takes of one call in order. */
  takeTokens(takes: readonly TokenTake[], nowMs: number): Promise<readonly TokenResult[]>
  /** Adds to the usage counts, and sets when keys were last used. Both are only for reports. */
  recordUse(use: { readonly counts: readonly UsageCount[]; readonly keys: readonly KeyUse[] }): Promise<void>
  usageOf(applicationId: string, day: string): Promise<readonly { operation: string; used: number }[]>
  /** Keys that sign cursors, newest first. */
  signingKeys(): Promise<readonly SigningKey[]>
  /**
   * Adds a key and returns all keys. With `onlyIfNone` it adds nothing if a key exists, so that concurrent processes
   * agree on one.
   */
  addSigningKey(key: SigningKey, onlyIfNone: boolean): Promise<readonly SigningKey[]>
  /** Removes keys that were replaced before that time. Always keeps the newest key. */
  removeSigningKeysBefore(timeMs: number): Promise<number>
}

export interface KeyWithOwner {
  readonly keyId: string
  readonly hash: string
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  readonly owner: KeyOwner
}

export interface QuotaTake {
  readonly applicationId: string
  readonly operation: string
  readonly day: string
  readonly limit: number
}

export interface QuotaResult {
  readonly taken: boolean
  readonly used: number
}

export interface TokenTake {
  readonly name: string
  readonly rate: Rate
}

export interface TokenResult {
  readonly taken: boolean
  readonly left: number
}

export interface UsageCount {
  readonly applicationId: string
  readonly operation: string
  readonly day: string
  readonly count: number
}

export interface KeyUse {
  readonly keyId: string
  readonly at: number
}
