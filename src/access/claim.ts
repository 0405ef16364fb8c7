import { createHash } from 'node:crypto'
import { dayMs } from '../time.ts'

/**
 * `Idempotency-Key`: a caller names what it wants made, so that it can ask again without having it made twice.
 *
 *   the key is new                     the thing is made, and the key kept with it, in one transaction
 *   the same key and the same request  the thing that was made, as it is now
 *   the same key, another request      422 `idempotency_key_reused`
 *   the key is a day old               as if it had never been used
 *
 * A request that is refused keeps no key. Of two at once one makes the thing, and both are answered with it.
 */
export interface Claim {
  /** Keys of one caller are nothing to another. */
  readonly caller: string
  readonly key: string
  /** Of everything that makes two requests the same. */
  readonly requestHash: string
}

/** A claim with what was made by it, or is to be. */
export interface KeptClaim extends Claim {
  readonly madeId: string
}

export const claimKeptMs = dayMs

/** What a key may be: printable ASCII. */
export const claimKeyPattern = '^[\\x20-\\x7e]{1,255}$'

export const claimFor = (claim: Claim | null, madeId: string): KeptClaim | null =>
  claim === null ? null : { ...claim, madeId }

export const requestHashOf = (request: unknown): string =>
  createHash('sha256').update(canonicalJson(request)).digest('hex')

/** The same text for the same content, in whatever order an object's members were sent. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => `${JSON.stringify(name)}:${canonicalJson(one)}`)
  return `{${members.join()}}`
}
