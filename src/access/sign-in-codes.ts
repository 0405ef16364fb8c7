import { createHash, randomBytes } from 'node:crypto'

/** Long enough to switch to a browser. Codes expire, because they stay in the history of a terminal. */
const validMs = 60 * 60_000

/**
 * One-time codes that stand for a key, so that a link can sign somebody in without containing the key. They are kept
 * only in the memory of this process.
 */
export class SignInCodes {
  readonly #keys = new Map<string, { readonly key: string; readonly until: number }>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Returns a new code for the key. */
  issue(key: string): string {
    const code = randomBytes(24).toString('base64url')
    this.#keys.set(digest(code), { key, until: this.#now() + validMs })
    return code
  }

  /** Returns the key, once; null if the code is unknown, used or expired. */
  redeem(code: string): string | null {
    const name = digest(code)
    const found = this.#keys.get(name)
    this.#keys.delete(name)
    return found === undefined || found.until <= this.#now() ? null : found.key
  }
}

/** Codes are looked up by their digest, so that the time of a lookup reveals nothing about similar codes. */
const digest = (code: string): string => createHash('sha256').update(code).digest('hex')
