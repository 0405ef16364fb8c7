import type { Kysely } from 'kysely'
import type { Backlog } from '../../indexing/index-source.ts'
import { idTimeMs } from '../../platform/ids.ts'
import type { Tables } from './tables.ts'

/**
 * If the count is limited, the oldest change is searched among this many rows with the lowest revisions. Changes get
 * their revisions in the order in which they arrive.
 */
const oldestAmong = 100

/**
 * The changes that an index at a revision has not seen. With `countedMax`, at most that many rows of a table are read,
 * in index order.
 */
export async function backlogOf(db: Kysely<Tables>, indexedRevision: number, countedMax?: number): Promise<Backlog> {
  const oldestMax = countedMax === undefined ? undefined : Math.min(oldestAmong, countedMax)
  const changed = (most?: number) => {
    const rows = db.selectFrom('document').select('updated_at').where('index_revision', '>', indexedRevision)
    return (most === undefined ? rows : rows.orderBy('index_revision').limit(most)).as('changed')
  }
  const erased = (most?: number) => {
    const rows = db.selectFrom('erased_document').select('erasure_id').where('index_revision', '>', indexedRevision)
    return (most === undefined ? rows : rows.orderBy('index_revision').limit(most)).as('erased')
  }
  const documents = await db
    .selectFrom(changed(countedMax))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const oldestDocument = await db
    .selectFrom(changed(oldestMax))
    .select((eb) => eb.fn.min('updated_at').as('at'))
    .executeTakeFirstOrThrow()
  const gone = await db
    .selectFrom(erased(countedMax))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const oldestErasure = await db
    .selectFrom(erased(oldestMax))
    .select((eb) => eb.fn.min('erasure_id').as('id'))
    .executeTakeFirstOrThrow()
  const times: number[] = []
  if (oldestDocument.at !== null) times.push(Number(oldestDocument.at))
  if (oldestErasure.id !== null) times.push(idTimeMs(oldestErasure.id))
  let waitingVectors = 0
  const profiles = db.selectFrom('embedding_profile').select('profile_id').where('vectors_for', 'is not', null)
  for (const { profile_id } of await profiles.execute()) {
    const waiting = db.selectFrom('pending_vector').select('chunk_id').where('profile_id', '=', profile_id)
    const oldest = await waiting.orderBy('chunk_id').limit(1).executeTakeFirst()
    if (oldest === undefined) continue
    times.push(idTimeMs(oldest.chunk_id))
    const { count } = await db
      .selectFrom((countedMax === undefined ? waiting : waiting.limit(countedMax)).as('waiting'))
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    waitingVectors += Number(count)
  }
  return {
    documents: Number(documents.count) + Number(gone.count),
    waitingVectors,
    oldestAt: times.length === 0 ? null : Math.min(...times),
  }
}
