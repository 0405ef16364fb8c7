import { createHmac, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Identity } from '../../operator/erasure-store.ts'
import type { Tables } from './tables.ts'

/** Far below the limit of any database. */
const idsPerStatement = 200

/** Makes tombstones: keyed hashes (HMAC-SHA-256) of what identifies a document. */
export class Tombstones {
  readonly #secret: string

  constructor(secret: string) {
    this.#secret = secret
  }

  of({ datasetId, platform, externalId }: Identity): string {
    return createHmac('sha256', this.#secret)
      .update(JSON.stringify([datasetId, platform, externalId]))
      .digest('hex')
  }
}

/** Null if nothing was ever erased. */
export async function tombstoneSecret(db: Kysely<Tables>): Promise<string | null> {
  const row = await db.selectFrom('tombstone_key').select('secret').executeTakeFirst()
  return row?.secret ?? null
}

export async function knownTombstones(db: Kysely<Tables>): Promise<Tombstones | null> {
  const secret = await tombstoneSecret(db)
  return secret === null ? null : new Tombstones(secret)
}

/** Creates the secret before the first erasure. */
export async function ensureTombstones(db: Kysely<Tables>): Promise<Tombstones> {
  const known = await knownTombstones(db)
  if (known !== null) return known
  const secret = randomBytes(32).toString('hex')
  await db.insertInto('tombstone_key').values({ one: 1, secret }).execute()
  return new Tombstones(secret)
}

/** The documents that were erased and must not be ingested again. */
export async function erasedAmong<T extends Identity>(
  db: Kysely<Tables>,
  tombstones: Tombstones | null,
  documents: readonly T[],
): Promise<Set<T>> {
  const erased = new Set<T>()
  if (tombstones === null) return erased
  for (let from = 0; from < documents.length; from += idsPerStatement) {
    const hashes = new Map(documents.slice(from, from + idsPerStatement).map((one) => [one, tombstones.of(one)]))
    const rows = await db
      .selectFrom('erased_document')
      .select('tombstone')
      .where('tombstone', 'in', [...hashes.values()])
      .execute()
    const found = new Set(rows.map((row) => row.tombstone))
    for (const [one, hash] of hashes) if (found.has(hash)) erased.add(one)
  }
  return erased
}
