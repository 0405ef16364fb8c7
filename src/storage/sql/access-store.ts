import type { Kysely } from 'kysely'
import type { AccessStore } from '../../access/access-store.ts'
import { type Bucket, takeToken } from '../../access/rate-limits.ts'
import type { SigningKey } from '../../platform/cursors.ts'
import { findClaim } from './kept-claims.ts'
import { readOwner } from './key-owners.ts'
import type { Tables } from './tables.ts'

export function sqlAccessStore(db: Kysely<Tables>): AccessStore {
  const signingKeys = async (): Promise<readonly SigningKey[]> => {
    const rows = await db
      .selectFrom('signing_key')
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('key_id', 'desc')
      .execute()
    return rows.map((row) => ({ keyId: row.key_id, secret: row.secret, createdAt: row.created_at }))
  }

  return {
    async findKey(hash) {
      const key = await db.selectFrom('api_key').selectAll().where('hash', '=', hash).executeTakeFirst()
      if (key === undefined) return null
      const owner = await readOwner(db, key)
      if (owner === null) return null
      return { keyId: key.key_id, hash: key.hash, expiresAt: key.expires_at, revokedAt: key.revoked_at, owner }
    },

    findClaim: (claim, nowMs) => findClaim(db, claim, nowMs),

    async takeQuota(takes) {
      const results = []
      for (const take of takes) {
        const row = await db
          .insertInto('usage')
          .values({
            application_id: take.applicationId,
            day: take.day,
            operation: take.operation,
            used: take.limit > 0 ? 1 : 0,
          })
          .onConflict((conflict) =>
            conflict
              .columns(['application_id', 'day', 'operation'])
              .doUpdateSet((eb) => ({ used: eb('usage.used', '+', 1) }))
              .where('usage.used', '<', take.limit),
          )
          .returning('used')
          .executeTakeFirst()
        results.push({ taken: row !== undefined && take.limit > 0, used: row?.used ?? take.limit })
      }
      return results
    },

    async takeTokens(takes, nowMs) {
      const names = [...new Set(takes.map(({ name }) => name))]
      const rows = await db.selectFrom('rate_bucket').selectAll().where('name', 'in', names).execute()
      const buckets = new Map<string, Bucket>()
      for (const row of rows) buckets.set(row.name, { tokens: row.tokens, updatedMs: row.updated_at })
      const results = takes.map(({ name, rate }) => {
        const { taken, bucket } = takeToken(buckets.get(name) ?? null, rate, nowMs)
        buckets.set(name, bucket)
        return { taken, left: bucket.tokens }
      })
      await db
        .insertInto('rate_bucket')
        .values(Array.from(buckets, ([name, { tokens, updatedMs }]) => ({ name, tokens, updated_at: updatedMs })))
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet((eb) => ({ tokens: eb.ref('excluded.tokens'), updated_at: eb.ref('excluded.updated_at') })),
        )
        .execute()
      return results
    },

    async recordUse({ counts, keys }) {
      for (const { applicationId, operation, day, count } of counts) {
        await db
          .insertInto('usage')
          .values({ application_id: applicationId, day, operation, used: count })
          .onConflict((conflict) =>
            conflict
              .columns(['application_id', 'day', 'operation'])
              .doUpdateSet((eb) => ({ used: eb('usage.used', '+', count) })),
          )
          .execute()
      }
      for (const { keyId, at } of keys) {
        await db.updateTable('api_key').set({ last_used_at: at }).where('key_id', '=', keyId).execute()
      }
    },

    usageOf: (applicationId, day) =>
      db
        .selectFrom('usage')
        .select(['operation', 'used'])
        .where('application_id', '=', applicationId)
        .where('day', '=', day)
        .orderBy('operation')
        .execute(),

    signingKeys,

    async addSigningKey(key, onlyIfNone) {
      const there = await signingKeys()
      if (onlyIfNone && there.length > 0) return there
      await db
        .insertInto('signing_key')
        .values({ key_id: key.keyId, secret: key.secret, created_at: key.createdAt })
        .execute()
      return signingKeys()
    },

    async removeSigningKeysBefore(timeMs) {
      const keys = await signingKeys()
      const replaced = keys.filter((_, i) => i > 0 && keys[i - 1]!.createdAt <= timeMs).map(({ keyId }) => keyId)
      if (replaced.length > 0) await db.deleteFrom('signing_key').where('key_id', 'in', replaced).execute()
      return replaced.length
    },
  }
}
