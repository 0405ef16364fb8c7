import { createHash, randomBytes } from 'node:crypto'

/** Time enough to change to a browser; an address that was left in a terminal's history opens nothing. */
const validMs = 60 * 60_000

/**
 * One-time codes that stand for a key, so that an address can sign somebody in without having the key in it. They are
 * known to this process alone, and gone with it.
 */
export class SignInCodes {
  readonly #keys = new Map<string, { readonly key: string; readonly until: number }>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** A new code for the key. */
  issue(key: string): string {
    const code = randomBytes(24).toString('base64url')
    this.#keys.set(digest(code), { key, until: this.#now() + validMs })
    return code
  }

  /** The key, once; null when the code was used, is too old, or never was. */
  redeem(code: string): string | null {
    const name = digest(code)
    const found = this.#keys.get(name)
    this.#keys.delete(name)
    return found === undefined || found.until <= this.#now() ? null : found.key
  }
}

/** What is looked up is not what was sent: how long it takes says nothing of codes that are near it. */
const digest = (code: string): string => createHash('sha256').update(code).digest('hex')
