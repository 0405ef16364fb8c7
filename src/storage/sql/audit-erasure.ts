import type { Kysely } from 'kysely'
import type { AuditMark } from '../../operator/operator-store.ts'
import { idTimeMs, newId } from '../../platform/ids.ts'
import type { Tables } from './tables.ts'

/** Records who erased how many documents and when. The log must not contain what was erased. */
export async function auditErasure(
  db: Kysely<Tables>,
  action: string,
  target: string,
  detail: object,
  { actor, at }: AuditMark,
): Promise<void> {
  await db
    .insertInto('audit')
    .values({ audit_id: await newAuditId(db, at), at, actor, action, target, detail: JSON.stringify(detail) })
    .execute()
}

/**
 * The first entry of the audit log identifies the instance, so no later entry may sort before it, even if the clock is
 * behind.
 */
export async function newAuditId(db: Kysely<Tables>, at: number): Promise<string> {
  const first = await db.selectFrom('audit').select('audit_id').orderBy('audit_id').limit(1).executeTakeFirst()
  return newId('aud', first === undefined ? at : Math.max(at, idTimeMs(first.audit_id) + 1))
}
