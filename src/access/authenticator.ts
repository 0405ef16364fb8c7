import { LRUCache } from 'lru-cache'
import { isUnavailability, TidemarkError } from '../platform/errors.ts'
import { dayMs } from '../platform/time.ts'
import type { AccessStore, KeyWithOwner } from './access-store.ts'
import { type CredentialKind, credentialKinds } from './credential-kinds.ts'
import { hashKey, sameHash } from './keys.ts'
import type { Principal } from './principal.ts'

/**
 * Keys are looked up in the store and remembered briefly, so that a revocation by another process takes effect within a
 * second. After a change made by this process they are forgotten at once.
 */
const rememberedMs = 500
/** A key older than this is read again in the background, so that the requests of a busy key do not wait for the store. */
const renewedMs = 250

/** Limits the memory that a flood of different wrong keys can take. */
const rememberedMax = 10_000

/** How long a monitoring key is accepted while the store is unavailable, and how many such keys are kept. */
const keptForMs = dayMs
const keptMax = 100

/** Limits the concurrent lookups that such a flood can cause. */
const lookupsAtOnceMax = 256

interface Remembered {
  readonly key: KeyWithOwner | null
  readonly principal: Principal | null
  readonly readAt: number
}

/** A credential that is not stored in the store. */
export interface GivenCredential {
  readonly hash: string
  readonly principal: Principal
}

export class Authenticator {
  #store: AccessStore
  #given: readonly GivenCredential[]
  #remembered = new LRUCache<string, Remembered>({ max: rememberedMax })
  /** By hash: the keys that monitoring has used, with the store's last answer. */
  #kept = new Map<string, Remembered>()
  /** By hash: lookups in progress, which are shared by concurrent requests. */
  #lookups = new Map<string, Promise<Remembered>>()

  constructor(store: AccessStore, given: readonly GivenCredential[]) {
    this.#store = store
    this.#given = given
  }

  /**
   * Returns the principal of a key of that kind; null for anything else, without saying which part was wrong. Returns a
   * promise only if the store must be asked: requests of a remembered key stay synchronous.
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
    // The first request that has to wait repeats a lookup that fails here, and reports the failure.
    if (now - found.readAt > renewedMs) this.#lookUp(hash, now).catch(() => {})
    return principalIn(found, kind, now)
  }

  /**
   * As `identify`, for monitoring, which must work while the store is unavailable. Then a key is valid if it was valid at
   * the last lookup.
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
    for (const hash of this.#kept.keys()) this.#keepAgain(hash)
  }

  /** If the lookup fails, the store may be unavailable again, and its last answer still holds. */
  #keepAgain(hash: string): void {
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
      // An answer from before a change must not be remembered after it.
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
    // Compared in constant time once: the memory is keyed by the same hash.
    const key = found !== null && sameHash(hash, found.hash) ? found : null
    return { key, principal: key === null ? null : { ...key.owner, keyId: key.keyId }, readAt: now }
  }
}

function principalIn(found: Remembered, kind: CredentialKind, now: number): Principal | null {
  if (found.key === null || found.principal?.kind !== kind) return null
  const { revokedAt, expiresAt } = found.key
  // Written so that an expiry that is not a number counts as expired.
  return revokedAt === null && (expiresAt === null || expiresAt > now) ? found.principal : null
}
