import { createHash } from 'node:crypto'
import { dayMs } from '../platform/time.ts'

/**
 * `Idempotency-Key`: a caller names an object to create, so that it can repeat the request without creating it twice.
 *
 *   the key is new                     the object is created, and the key stored with it, in one transaction
 *   the same key and the same request  the object that was created, in its current state
 *   the same key, another request      422 `idempotency_key_reused`
 *   the key is a day old               as if it had never been used
 *
 * A refused request stores no key. If two requests with one key run at once, one creates the object and both return it.
 */
export interface Claim {
  /** Keys are separate for each caller. */
  readonly caller: string
  readonly key: string
  /** The hash of the parts of a request that a repetition must not change. */
  readonly requestHash: string
}

/** A claim with the ID of its object. The object may not exist yet. */
export interface KeptClaim extends Claim {
  readonly madeId: string
}

export const claimKeptMs = dayMs

/** The characters of a key: printable ASCII. */
export const claimKeyPattern = '^[\\x20-\\x7e]{1,255}$'

export const claimFor = (claim: Claim | null, madeId: string): KeptClaim | null =>
  claim === null ? null : { ...claim, madeId }

export const requestHashOf = (request: unknown): string =>
  createHash('sha256').update(canonicalJson(request)).digest('hex')

/** Serialises a value with sorted members, so that equal values give equal texts. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => `${JSON.stringify(name)}:${canonicalJson(one)}`)
  return `{${members.join()}}`
}
