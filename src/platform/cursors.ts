/**
 * Opaque, signed cursors. A cursor contains a position, the time it was made, and a digest of its binding (the
 * application and the conditions of the request). It is signed by the newest of the instance's signing keys. Older keys
 * still verify, so keys can be rotated without breaking a reader.
 *
 * Form: base64url of JSON [key ID, time, binding, position], a dot, base64url of 16 bytes of HMAC-SHA256.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isId, newId } from './ids.ts'
import { type Incidents, silentIncidents } from './incidents.ts'

export interface SigningKey {
  readonly keyId: string
  readonly secret: string
  readonly createdAt: number
}

/** Stores the signing keys, which all processes of an instance share. */
export interface SigningKeyStore {
  signingKeys(): Promise<readonly SigningKey[]>
  addSigningKey(key: SigningKey, onlyIfNone: boolean): Promise<readonly SigningKey[]>
}

export type OpenedCursor<Position> =
  | { readonly ok: true; readonly position: Position; readonly issuedAt: number }
  | { readonly ok: false; readonly reason: 'invalid' }
  /**
   * The signature is valid, but the cursor is for another application or other conditions. Its position may have any
   * form.
   */
  | { readonly ok: false; readonly reason: 'other'; readonly position: unknown }

const signatureBytes = 16
export const cursorCharactersMax = 4096

/** Another process may have rotated or removed keys, so cached keys older than this are not used to open a cursor. */
const refreshEveryMs = 1000

export function makeSigningKey(nowMs: number): SigningKey {
  return { keyId: newId('sig', nowMs), secret: randomBytes(32).toString('base64url'), createdAt: nowMs }
}

export class Cursors {
  #store: SigningKeyStore
  #keys: readonly SigningKey[]
  #refreshedAt = Date.now()
  #refreshing: Promise<void> | null = null

  #incidents: Incidents

  private constructor(store: SigningKeyStore, keys: readonly SigningKey[], incidents: Incidents) {
    this.#store = store
    this.#keys = keys
    this.#incidents = incidents
  }

  static async load(store: SigningKeyStore, incidents: Incidents = silentIncidents): Promise<Cursors> {
    return new Cursors(store, await store.addSigningKey(makeSigningKey(Date.now()), true), incidents)
  }

  /** `binding` is any JSON value. Equal bindings must have their members in the same order. */
  sign(binding: unknown, position: unknown, nowMs: number = Date.now()): string {
    // The refresh is not awaited: this cursor may be signed with an old key, which still verifies.
    if (this.#isStale()) this.#refreshInBackground()
    const key = this.#keys[0]!
    const payload = Buffer.from(JSON.stringify([key.keyId, nowMs, digest(binding), position])).toString('base64url')
    return `${payload}.${signature(key, payload)}`
  }

  async open<Position>(cursor: string, binding: unknown): Promise<OpenedCursor<Position>> {
    const invalid = { ok: false, reason: 'invalid' } as const
    const [payload, signed, ...rest] = cursor.length > cursorCharactersMax ? [] : cursor.split('.')
    if (!payload || !signed || rest.length > 0) return invalid
    const parsed = parsePayload(payload)
    if (parsed === null) return invalid
    const [keyId, issuedAt, bound, position] = parsed
    if (this.#isStale()) await this.#refresh()
    if (this.#find(keyId) === undefined && isId('sig', keyId)) await this.#refresh()
    const key = this.#find(keyId)
    // Signatures are compared as text, because different base64 texts can decode to the same bytes.
    if (key === undefined || !sameText(signed, signature(key, payload))) return invalid
    if (bound !== digest(binding)) return { ok: false, reason: 'other', position }
    return { ok: true, position: position as Position, issuedAt }
  }

  #find(keyId: string): SigningKey | undefined {
    return this.#keys.find((one) => one.keyId === keyId)
  }

  #isStale(): boolean {
    return Date.now() - this.#refreshedAt >= refreshEveryMs
  }

  #refreshInBackground(): void {
    this.#refresh().then(
      () => this.#incidents.worked('signing-keys'),
      (error) => this.#incidents.failed('signing-keys', error),
    )
  }

  /** Calls during a refresh share the next refresh, because the current one may have read the keys too early. */
  async #refresh(): Promise<void> {
    const inProgress = this.#refreshing
    if (inProgress !== null) {
      await inProgress.catch(() => {})
      if (this.#refreshing !== null) return this.#refreshing
    }
    this.#refreshing = this.#store
      .signingKeys()
      .then((keys) => {
        this.#keys = keys
        this.#refreshedAt = Date.now()
      })
      .finally(() => {
        this.#refreshing = null
      })
    return this.#refreshing
  }
}

function parsePayload(payload: string): [string, number, string, unknown] | null {
  try {
    const bytes = Buffer.from(payload, 'base64url')
    if (bytes.toString('base64url') !== payload) return null
    const parsed: unknown = JSON.parse(bytes.toString())
    if (!Array.isArray(parsed) || parsed.length !== 4) return null
    const [keyId, issuedAt, bound] = parsed
    return typeof keyId === 'string' && typeof issuedAt === 'number' && typeof bound === 'string'
      ? (parsed as [string, number, string, unknown])
      : null
  } catch {
    return null
  }
}

const digest = (binding: unknown): string => hash('sha256', JSON.stringify(binding), 'base64url').slice(0, 22)

const signature = (key: SigningKey, payload: string): string =>
  createHmac('sha256', key.secret).update(payload).digest().subarray(0, signatureBytes).toString('base64url')

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
