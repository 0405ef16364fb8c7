import { TidemarkError } from '../errors.ts'
import type { AccessStore, KeyWithOwner } from './access-store.ts'
import { type CredentialKind, credentialKinds } from './credential-kinds.ts'
import { hashKey, sameHash } from './keys.ts'
import type { Principal } from './principal.ts'

/**
 * Keys are looked up in the store and remembered for a moment, so that a revocation made by another process acts
 * within a second; what this process itself changes is forgotten at once.
 */
const rememberedMs = 500
/** From this age on a key is read again beside its request, so that those of a busy one do not wait for the store. */
const renewedMs = 250

/** Bounds what a flood of different wrong keys can make us remember. */
const rememberedMax = 10_000

/** And what it can make us ask at once. */
const askedAtOnceMax = 256

interface Remembered {
  readonly key: KeyWithOwner | null
  readonly principal: Principal | null
  readonly readAt: number
}

/** A credential that is not in the store. */
export interface GivenCredential {
  readonly hash: string
  readonly principal: Principal
}

export class Authenticator {
  #store: AccessStore
  #given: readonly GivenCredential[]
  #remembered = new Map<string, Remembered>()
  /** By hash: who wants the same at the same time waits for the same answer. */
  #asked = new Map<string, Promise<Remembered>>()

  constructor(store: AccessStore, given: readonly GivenCredential[]) {
    this.#store = store
    this.#given = given
  }

  /**
   * The principal of a key of that kind; null for anything else, without saying which part was wrong. A promise only
   * where the store has to be asked: a key that is in use is remembered, and its requests need not wait a turn.
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
      return this.#ask(hash, now).then((read) => principalIn(read, kind, now))
    }
    // What fails here is asked for again, and told, by the first request that has to wait for it.
    if (now - found.readAt > renewedMs) this.#ask(hash, now).catch(() => {})
    return principalIn(found, kind, now)
  }

  /** Called after every change of keys, policies or entitlements that this process makes. */
  forget(): void {
    this.#remembered.clear()
    this.#asked.clear()
  }

  #ask(hash: string, now: number): Promise<Remembered> {
    const asked = this.#asked.get(hash)
    if (asked !== undefined) return asked
    if (this.#asked.size >= askedAtOnceMax) {
      const message = 'too many unknown credentials at once: try again in a moment'
      return Promise.reject(new TidemarkError('overloaded', message, { retryAfterSeconds: 1 }))
    }
    const answer = this.#read(hash, now)
    this.#asked.set(hash, answer)
    const answered = (found: Remembered | null): void => {
      // An answer from before a change must not be remembered after it.
      if (this.#asked.get(hash) !== answer) return
      this.#asked.delete(hash)
      if (found === null) return
      if (this.#remembered.size >= rememberedMax) this.#remembered.clear()
      this.#remembered.set(hash, found)
    }
    answer.then(answered, () => answered(null))
    return answer
  }

  async #read(hash: string, now: number): Promise<Remembered> {
    const found = await this.#store.findKey(hash)
    // Compared once: what is remembered is found by the same hash.
    const key = found !== null && sameHash(hash, found.hash) ? found : null
    return { key, principal: key === null ? null : { ...key.owner, keyId: key.keyId }, readAt: now }
  }
}

function principalIn(found: Remembered, kind: CredentialKind, now: number): Principal | null {
  if (found.key === null || found.principal?.kind !== kind) return null
  const { revokedAt, expiresAt } = found.key
  // Asked this way round, an end that is no number is one.
  return revokedAt === null && (expiresAt === null || expiresAt > now) ? found.principal : null
}
