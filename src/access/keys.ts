import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type CredentialKind, credentialKinds } from './credential-kinds.ts'

const alphabet = '0123456789abcdefghijkmnpqrstuvwxyz'.slice(0, 32)
const secretLength = 40

export interface MadeKey {
  /** Shown once. */
  readonly secret: string
  readonly hash: string
  /** The part that lists show. */
  readonly prefix: string
}

/** The secret has 40 characters of 5 random bits each: 200 bits. */
export function makeKey(kind: CredentialKind): MadeKey {
  let secret: string = credentialKinds[kind].prefix
  for (const byte of randomBytes(secretLength)) secret += alphabet[byte & 31]
  return { secret, hash: hashKey(secret), prefix: secret.slice(0, 8) }
}

/** A plain SHA-256 is enough, because nobody can guess 200 random bits, however fast the hash is. */
export function hashKey(secret: string): string {
  return hash('sha256', secret)
}

/** Compares two SHA-256 hashes in constant time. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
