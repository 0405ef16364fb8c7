import { LRUCache } from 'lru-cache'
import { isUnavailability, TidemarkError } from '../platform/errors.ts'
import { dayMs } from '../platform/time.ts'
import type { AccessStore, KeyWithOwner } from './access-store.ts'
import { type CredentialKind, credentialKinds } from './credential-kinds.ts'
import { hashKey, sameHash } from './keys.ts'
import type { Principal } from './principal.ts'

/**
 * The TTL of the key cache. It is short, so that a revocation by another process takes effect within a second. A change
 * by this process clears the cache at once.
 */
const rememberedMs = 500
/**
 * A cached key older than this is refreshed in the background, so that the requests of a busy key do not wait for the
 * store.
 */
const renewedMs = 250

/** Limits the memory that a flood of different wrong keys can take. */
const rememberedMax = 10_000

/** How long a monitoring key is accepted while the store is unavailable, and how many such keys are kept. */
const keptForMs = dayMs
const keptMax = 100

/** Limits the concurrent lookups that a flood of wrong keys can cause. */
const lookupsAtOnceMax = 256

interface Remembered {
  readonly key: KeyWithOwner | null
  readonly principal: Principal | null
  readonly readAt: number
}

/** A credential that comes from the configuration or the data folder, not from the store. */
export interface GivenCredential {
  readonly hash: string
  readonly principal: Principal
}

export class Authenticator {
  #store: AccessStore
  #given: readonly GivenCredential[]
  #remembered = new LRUCache<string, Remembered>({ max: rememberedMax })
  /** The keys that were used for monitoring, by hash, as the store last returned them. */
  #kept = new Map<string, Remembered>()
  /** Lookups in progress, by hash. Concurrent requests share them. */
  #lookups = new Map<string, Promise<Remembered>>()

  constructor(store: AccessStore, given: readonly GivenCredential[]) {
    this.#store = store
    this.#given = given
  }

  /**
   * Returns the principal of a valid key of that kind, otherwise null. Returns a promise only if the key is not in the
   * cache.
   */
  identify(secret: string, kind: CredentialKind): Principal | null | Promise<Principal | null> {
    const hash = hashKey(secret)
    const given = this.#given.find((one) => one.principal.kind === kind && sameHash(hash, one.hash))
    if (given !== undefined) return given.principal
    const { isStored, prefix } = credentialKinds[kind]
    if (!isStored || !secret.startsWith(prefix)) return null
    const now = Date.now()
    const found = this.#remembered.get(hash)
    if (found === undefined || now - found.readAt > rememberedMs) {
      return this.#lookUp(hash, now).then((read) => principalIn(read, kind, now))
    }
    // A refresh that fails here is repeated by the first request after the TTL, which reports the failure.
    if (now - found.readAt > renewedMs) this.#lookUp(hash, now).catch(() => {})
    return principalIn(found, kind, now)
  }

  /**
   * Like `identify`, for monitoring, which must work while the store is unavailable. During that time, a key is valid
   * if it was valid at its last lookup.
   */
  async identifyForMonitoring(secret: string, kind: CredentialKind): Promise<Principal | null> {
    const hash = hashKey(secret)
    try {
      const principal = await this.identify(secret, kind)
      const found = this.#remembered.get(hash)
      if (principal === null) this.#kept.delete(hash)
      else if (found !== undefined && (this.#kept.has(hash) || this.#kept.size < keptMax)) this.#kept.set(hash, found)
      return principal
    } catch (error) {
      const kept = this.#kept.get(hash)
      const now = Date.now()
      if (!isUnavailability(error) || kept === undefined || now - kept.readAt > keptForMs) throw error
      return principalIn(kept, kind, now)
    }
  }

  /** Called after every change of keys, policies or entitlements that this process makes. */
  forget(): void {
    this.#remembered.clear()
    this.#lookups.clear()
    for (const hash of this.#kept.keys()) this.#refreshKept(hash)
  }

  /** If the lookup fails, the last result stays valid, because the store may be unavailable. */
  #refreshKept(hash: string): void {
    this.#lookUp(hash, Date.now()).then(
      (found) => {
        const kept = this.#kept.get(hash)
        if (kept === undefined || kept.readAt > found.readAt) return
        if (found.key === null) this.#kept.delete(hash)
        else this.#kept.set(hash, found)
      },
      () => {},
    )
  }

  #lookUp(hash: string, now: number): Promise<Remembered> {
    const lookup = this.#lookups.get(hash)
    if (lookup !== undefined) return lookup
    if (this.#lookups.size >= lookupsAtOnceMax) {
      const message = 'too many unknown credentials at once: try again in a moment'
      return Promise.reject(new TidemarkError('overloaded', message, { retryAfterSeconds: 1 }))
    }
    const answer = this.#read(hash, now)
    this.#lookups.set(hash, answer)
    const answered = (found: Remembered | null): void => {
      // The result of a lookup that began before `forget` must not be cached.
      if (this.#lookups.get(hash) !== answer) return
      this.#lookups.delete(hash)
      if (found === null) return
      this.#remembered.set(hash, found)
    }
    answer.then(answered, () => answered(null))
    return answer
  }

  async #read(hash: string, now: number): Promise<Remembered> {
    const found = await this.#store.findKey(hash)
    const key = found !== null && sameHash(hash, found.hash) ? found : null
    return { key, principal: key === null ? null : { ...key.owner, keyId: key.keyId }, readAt: now }
  }
}

function principalIn(found: Remembered, kind: CredentialKind, now: number): Principal | null {
  if (found.key === null || found.principal?.kind !== kind) return null
  const { revokedAt, expiresAt } = found.key
  // An expiry of NaN counts as expired.
  return revokedAt === null && (expiresAt === null || expiresAt > now) ? found.principal : null
}
