import type { Kysely } from 'kysely'
import { type Claim, claimKeptMs, type KeptClaim } from '../../access/claim.ts'
import { TidemarkError } from '../../platform/errors.ts'
import type { Tables } from './tables.ts'

/** The claim with this idempotency key, for any request; null if there is none that is still valid. */
export async function findClaim(
  db: Kysely<Tables>,
  { caller, key }: Pick<Claim, 'caller' | 'key'>,
  nowMs: number,
): Promise<KeptClaim | null> {
  const row = await db
    .selectFrom('live_key')
    .selectAll()
    .where('application_id', '=', caller)
    .where('idempotency_key', '=', key)
    .where('created_at', '>', nowMs - claimKeptMs)
    .executeTakeFirst()
  return row === undefined ? null : { caller, key, requestHash: row.body_hash, madeId: row.live_query_id }
}

/**
 * Records a claim in the transaction that makes the claimed object. Throws if the key is taken, which rolls back the
 * whole transaction. The caller then looks up what was made with the key.
 */
export async function keepClaim(db: Kysely<Tables>, claim: KeptClaim | null | undefined, nowMs: number): Promise<void> {
  if (claim === null || claim === undefined) return
  const kept = { body_hash: claim.requestHash, live_query_id: claim.madeId, created_at: nowMs }
  const row = await db
    .insertInto('live_key')
    .values({ application_id: claim.caller, idempotency_key: claim.key, ...kept })
    .onConflict((conflict) =>
      conflict
        .columns(['application_id', 'idempotency_key'])
        .doUpdateSet(kept)
        .where('live_key.created_at', '<=', nowMs - claimKeptMs),
    )
    .returning('created_at')
    .executeTakeFirst()
  if (row === undefined) throw new TidemarkError('idempotency_key_reused', 'this Idempotency-Key is already in use')
}
