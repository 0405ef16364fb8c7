import type { SigningKey } from '../platform/cursors.ts'
import type { Claim, KeptClaim } from './claim.ts'
import type { KeyOwner } from './principal.ts'
import type { Rate } from './rate-limits.ts'

/** The port: the part of the store that authentication and limits use. */
export interface AccessStore {
  /** Returns the key with that SHA-256 hash and its current owner; null if there is none. */
  findKey(hash: string): Promise<KeyWithOwner | null>
  /** Returns the object that a key of that caller created, for any request; null if there is none, or it is too old. */
  findClaim(claim: Pick<Claim, 'caller' | 'key'>, nowMs: number): Promise<KeptClaim | null>
  /** Takes one unit each if fewer than `limit` are used. The takes of one call are decided one after the other. */
  takeQuota(takes: readonly QuotaTake[]): Promise<readonly QuotaResult[]>
  /** Takes one token each from buckets that all processes share. The takes of one call are decided one after the other. */
  takeTokens(takes: readonly TokenTake[], nowMs: number): Promise<readonly TokenResult[]>
  /** Adds counts and the times keys were last used. Both are only reported; nothing is decided by them. */
  recordUse(use: { readonly counts: readonly UsageCount[]; readonly keys: readonly KeyUse[] }): Promise<void>
  usageOf(applicationId: string, day: string): Promise<readonly { operation: string; used: number }[]>
  /** Keys that sign cursors, newest first. */
  signingKeys(): Promise<readonly SigningKey[]>
  /** Adds a key. With `onlyIfNone` it does nothing if one exists, so that racing processes agree on one. */
  addSigningKey(key: SigningKey, onlyIfNone: boolean): Promise<readonly SigningKey[]>
  /** Removes keys that were replaced before that time. The newest key stays, and so does one that signed until recently. */
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
