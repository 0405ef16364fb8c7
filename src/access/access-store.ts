import type { SigningKey } from '../cursors.ts'
import type { Claim, KeptClaim } from './claim.ts'
import type { KeyOwner } from './principal.ts'
import type { Rate, TokenRequest } from './rate-limits.ts'

/** The port: what authentication and limits need of the store. */
export interface AccessStore {
  /** The key with that SHA-256 hash, with its owner as it is now; null when there is none. */
  findKey(hash: string): Promise<KeyWithOwner | null>
  /** What was made by a key of that caller, whatever was asked for; null where nothing was, or too long ago. */
  findClaim(claim: Pick<Claim, 'caller' | 'key'>, nowMs: number): Promise<KeptClaim | null>
  /** Takes one unit where fewer than `limit` are used; all takes of one call are decided one after the other. */
  takeQuota(takes: readonly QuotaTake[]): Promise<readonly QuotaResult[]>
  /** Takes tokens of buckets that all processes share, each named once, and says how many are left. */
  takeTokens(takes: readonly NamedTokenRequest[], nowMs: number): Promise<readonly TokensGranted[]>
  /** Adds counts and the times keys were last used; both are only ever reported, never decided on. */
  recordUse(use: { readonly counts: readonly UsageCount[]; readonly keys: readonly KeyUse[] }): Promise<void>
  usageOf(applicationId: string, day: string): Promise<readonly { operation: string; used: number }[]>
  /** Keys that sign cursors, newest first. */
  signingKeys(): Promise<readonly SigningKey[]>
  /** Adds a key; with `onlyIfNone` it does nothing where one exists, so that racing processes agree on one. */
  addSigningKey(key: SigningKey, onlyIfNone: boolean): Promise<readonly SigningKey[]>
  /** Removes keys that had been replaced by the time: an old key that signed until now stays, and so does the newest. */
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

export interface NamedTokenRequest extends TokenRequest {
  readonly name: string
  readonly rate: Rate
}

export interface TokensGranted {
  readonly granted: number
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
