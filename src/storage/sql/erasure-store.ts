import { type Kysely, sql } from 'kysely'
import type {
  AuthorPart,
  DatasetPart,
  Erasure,
  ErasureStatus,
  ErasureStore,
  Selection,
} from '../../operator/erasure-store.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { firstIdAt, idTimeMs } from '../../platform/ids.ts'
import { quoted } from '../../platform/quoted.ts'
import { dayMs } from '../../platform/time.ts'
import { type Arrivals, arrivalsAfter, writeArrivalEvents } from './arrival-events.ts'
import { auditErasure as audit } from './audit-erasure.ts'
import { forgetEvents, removeRemains } from './erase-documents.ts'
import { hideFor } from './hide-for-erasure.ts'
import { keepClaim } from './kept-claims.ts'
import { auditReplay, expireRunResults, hideAgain, takeOverSecret } from './replay-erasure.ts'
import type { ErasureRow, Tables } from './tables.ts'
import { knownTombstones, tombstoneSecret } from './tombstones.ts'

/**
 * An index copy that has not reported for this long belongs to a process that has ended. When that process starts
 * again, it finds out what was erased.
 */
const indexSilenceMaxMs = 90_000

export function sqlErasureStore(db: Kysely<Tables>): ErasureStore {
  const rowOf = (erasureId: string) =>
    db.selectFrom('erasure').selectAll().where('erasure_id', '=', erasureId).executeTakeFirstOrThrow()

  return {
    async count(selection) {
      if ('dataset' in selection) await mustHaveDataset(db, selection.dataset.datasetId)
      if ('author' in selection) await mustHaveDataset(db, selection.author.datasetId)
      const { documents } = await matching(db, await upToNow(db, selection))
        .select((eb) => eb.fn.countAll().as('documents'))
        .executeTakeFirstOrThrow()
      return Number(documents)
    },

    async begin(
      { erasureId, selection, keepTombstones, purgeArtifacts, mustExist, deletesDataset = false },
      mark,
      claim,
    ) {
      await keepClaim(db, claim, mark.at)
      if ('dataset' in selection) await hideDataset(db, selection.dataset.datasetId, erasureId)
      if ('author' in selection) await mustHaveDataset(db, selection.author.datasetId)
      const now = await upToNow(db, selection)
      await db
        .insertInto('erasure')
        .values({
          erasure_id: erasureId,
          actor: mark.actor,
          selection: JSON.stringify(now),
          documents: 0,
          removed: 0,
          keep_tombstones: keepTombstones ? 1 : 0,
          purge_artifacts: purgeArtifacts ? 1 : 0,
          artifact_run_ids: '[]',
          deletes_dataset: deletesDataset && 'dataset' in selection ? selection.dataset.datasetId : null,
          arrivals: null,
          status: 'running' satisfies ErasureStatus,
          created_at: mark.at,
          completed_at: null,
        })
        .execute()
      await audit(
        db,
        'erasure.begin',
        erasureId,
        { by: Object.keys(selection)[0], keepTombstones, purgeArtifacts },
        mark,
      )
      if ('documentIds' in selection) {
        await hideSome(db, await rowOf(erasureId), selection.documentIds.length, mark.at)
      }
      const erasure = erasureOf(await rowOf(erasureId))
      if (mustExist && erasure.documents === 0) throw new TidemarkError('not_found', 'there is no such document')
      return erasure
    },

    async hide(erasureId, most, nowMs) {
      const row = await rowOf(erasureId)
      return row.selection === null ? false : hideSome(db, row, most, nowMs)
    },

    async announceArrivals(erasureId, most, nowMs) {
      const { arrivals } = await rowOf(erasureId)
      if (arrivals === null) return 'done'
      const left = await writeArrivalEvents(db, JSON.parse(arrivals) as Arrivals, most, nowMs)
      if (left === 'later') return left
      await db
        .updateTable('erasure')
        .set({ arrivals: left === null ? null : JSON.stringify(left) })
        .where('erasure_id', '=', erasureId)
        .execute()
      return left === null ? 'done' : 'more'
    },

    async remove(erasureId, most) {
      const rows = await db
        .selectFrom('erased_document')
        .select('document_id')
        .where('erasure_id', '=', erasureId)
        .where('remains', '=', 1)
        .orderBy('document_id')
        .limit(most)
        .execute()
      await removeRemains(
        db,
        rows.map((row) => row.document_id),
      )
      await db
        .updateTable('erasure')
        .set({ removed: sql<number>`coalesce(removed, 0) + ${rows.length}` })
        .where('erasure_id', '=', erasureId)
        .execute()
      return rows.length === most
    },

    async forgetEvents(erasureId, after, most) {
      const next = db.selectFrom('event').select('sequence').where('sequence', '>', after).orderBy('sequence')
      const looked = await next.limit(most).execute()
      const through = looked.at(-1)?.sequence
      if (through === undefined) return null
      await forgetEvents(db, { after, through }, erasureId)
      return looked.length < most ? null : through
    },

    async isPurged(erasureId, nowMs) {
      const { newest } = await db
        .selectFrom('erased_document')
        .select((eb) => eb.fn.max('index_revision').as('newest'))
        .where('erasure_id', '=', erasureId)
        .executeTakeFirstOrThrow()
      if (newest === null) return true
      const copies = await db.selectFrom('index_copy').select(['purged_through', 'seen_at']).execute()
      const hasPurged = (copy: { purged_through: number }): boolean => copy.purged_through >= Number(newest)
      return (
        copies.some(hasPurged) && copies.every((copy) => hasPurged(copy) || copy.seen_at < nowMs - indexSilenceMaxMs)
      )
    },

    async complete(erasureId, nowMs) {
      const { status, actor, documents } = await rowOf(erasureId)
      if (status !== 'running') return
      await db
        .updateTable('erasure')
        .set({ status: 'completed' satisfies ErasureStatus, completed_at: nowMs })
        .where('erasure_id', '=', erasureId)
        .execute()
      await audit(db, 'erasure.complete', erasureId, { documents }, { actor, at: nowMs })
    },

    async overdue(nowMs) {
      const datasets = await db
        .selectFrom('dataset')
        .select(['dataset_id', 'retain_days'])
        .where('retain_days', 'is not', null)
        .where('hidden_by', 'is', null)
        .orderBy('dataset_id')
        .execute()
      const parts: DatasetPart[] = []
      for (const { dataset_id, retain_days } of datasets) {
        const below = firstIdAt('doc', nowMs - retain_days! * dayMs)
        const oldest = await db
          .selectFrom('document')
          .select('document_id')
          .where('dataset_id', '=', dataset_id)
          .where('document_id', '<', below)
          .limit(1)
          .executeTakeFirst()
        if (oldest !== undefined) parts.push({ datasetId: dataset_id, below })
      }
      const running = parts.length === 0 ? [] : await unhidden(db)
      return parts.filter(
        ({ datasetId }) => !running.some((one) => 'expired' in one && one.expired.datasetId === datasetId),
      )
    },

    async unfinished() {
      const rows = await db
        .selectFrom('erasure')
        .selectAll()
        .where('status', '=', 'running' satisfies ErasureStatus)
        .orderBy('erasure_id')
        .execute()
      return rows.map(erasureOf)
    },

    async erasure(erasureId) {
      const row = await db.selectFrom('erasure').selectAll().where('erasure_id', '=', erasureId).executeTakeFirst()
      return row === undefined ? null : erasureOf(row)
    },

    async erasures({ before, limit }) {
      let query = db.selectFrom('erasure').selectAll().orderBy('erasure_id', 'desc').limit(limit)
      if (before !== null) query = query.where('erasure_id', '<', before)
      return (await query.execute()).map(erasureOf)
    },

    async lift(identity, mark) {
      const tombstone = (await knownTombstones(db))?.of(identity)
      if (tombstone === undefined) return false
      const { numUpdatedRows } = await db
        .updateTable('erased_document')
        .set({ tombstone: null })
        .where('tombstone', '=', tombstone)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return false
      await audit(db, 'tombstone.lift', identity.datasetId, {}, mark)
      return true
    },

    tombstones: (erasureId) => tombstonesOf(db, erasureId),

    async liftAll(erasureId, after, most, mark) {
      if (after === null) {
        await audit(db, 'tombstone.lift', erasureId, { documents: await tombstonesOf(db, erasureId) }, mark)
      }
      // The job has removed all its documents, so one index run holds them in the order of their ids.
      const removed = db
        .selectFrom('erased_document')
        .select('document_id')
        .where('erasure_id', '=', erasureId)
        .where('remains', 'is', null)
        .where('document_id', '>', after ?? '')
      const portion = await removed.orderBy('document_id').limit(most).execute()
      const last = portion.at(-1)?.document_id
      if (last === undefined) return null
      await db
        .updateTable('erased_document')
        .set({ tombstone: null })
        .where('document_id', 'in', removed.where('document_id', '<=', last))
        .execute()
      return portion.length === most ? last : null
    },

    async hiddenAmong(erasureIds) {
      const hidden = db.selectFrom('erasure').select('erasure_id').where('selection', 'is', null)
      const rows = await hidden.where('erasure_id', 'in', [...erasureIds]).execute()
      return rows.map((row) => row.erasure_id)
    },

    async removal(erasureId, after, most) {
      const job = await rowOf(erasureId)
      // Two index runs, of the removed and of the other documents, each in the order of their ids.
      const documents = db
        .selectFrom('erased_document')
        .select(['document_id', 'tombstone'])
        .where('erasure_id', '=', erasureId)
        .where('document_id', '>', after ?? '')
        .orderBy('document_id')
        .limit(most)
      const removed = await documents.where('remains', 'is', null).execute()
      const hidden = await documents.where('remains', '=', 1).execute()
      const first = [...removed, ...hidden]
        .map((row) => ({ documentId: row.document_id, tombstone: row.tombstone }))
        .sort((a, b) => (a.documentId < b.documentId ? -1 : 1))
        .slice(0, most)
      return {
        erasureId,
        actor: job.actor,
        createdAt: job.created_at,
        keepTombstones: job.keep_tombstones === 1,
        purgeArtifacts: job.purge_artifacts === 1,
        artifactRunIds: JSON.parse(job.artifact_run_ids),
        tombstoneSecret: await tombstoneSecret(db),
        documents: first,
      }
    },

    async eraseAgain({ erasureId, tombstoneSecret: secret, documents }, nowMs) {
      const known = await takeOverSecret(db, secret)
      await hideAgain(
        db,
        documents.map(({ documentId, tombstone }) => ({
          document_id: documentId,
          erasure_id: erasureId,
          // A tombstone made with another secret would never match.
          tombstone: known === secret ? tombstone : null,
          keepTombstone: tombstone !== null,
        })),
        nowMs,
      )
    },

    async takeOver({ erasureId, actor, createdAt, keepTombstones, purgeArtifacts, artifactRunIds }, mark) {
      const all = db.selectFrom('erased_document').where('erasure_id', '=', erasureId)
      const count = (rows: typeof all) =>
        rows
          .select((eb) => eb.fn.countAll().as('documents'))
          .executeTakeFirstOrThrow()
          .then((row) => Number(row.documents))
      // No document of the job is removed before the job exists.
      const again = await count(all.where('remains', '=', 1))
      const there = await db.selectFrom('erasure').select('erasure_id').where('erasure_id', '=', erasureId).execute()
      if (there.length > 0) return again
      const documents = await count(all)
      if (purgeArtifacts) await expireRunResults(db, artifactRunIds, mark.at)
      await db
        .insertInto('erasure')
        .values({
          erasure_id: erasureId,
          actor,
          selection: null,
          documents,
          removed: documents - again,
          keep_tombstones: keepTombstones ? 1 : 0,
          purge_artifacts: purgeArtifacts ? 1 : 0,
          artifact_run_ids: JSON.stringify(artifactRunIds),
          deletes_dataset: null,
          arrivals: null,
          status: 'running' satisfies ErasureStatus,
          created_at: createdAt,
          completed_at: null,
        })
        .execute()
      await auditReplay(db, { erasureId, actor, createdAt, documents, again }, mark)
      return again
    },
  }
}

async function tombstonesOf(db: Kysely<Tables>, erasureId: string): Promise<number> {
  const { tombstones } = await db
    .selectFrom('erased_document')
    .select((eb) => eb.fn.count('tombstone').as('tombstones'))
    .where('erasure_id', '=', erasureId)
    .executeTakeFirstOrThrow()
  return Number(tombstones)
}

/** The selections of running jobs that have not hidden all their documents. */
async function unhidden(db: Kysely<Tables>): Promise<Selection[]> {
  const rows = await db
    .selectFrom('erasure')
    .select('selection')
    .where('status', '=', 'running' satisfies ErasureStatus)
    .execute()
  return rows.flatMap(({ selection }) => (selection === null ? [] : (JSON.parse(selection) as Selection)))
}

/** A missing dataset is an error, unlike an author without documents. */
async function mustHaveDataset(db: Kysely<Tables>, datasetId: string): Promise<{ hidden_by: string | null }> {
  const row = await db.selectFrom('dataset').select('hidden_by').where('dataset_id', '=', datasetId).executeTakeFirst()
  if (row === undefined) throw new TidemarkError('not_found', `there is no dataset ${quoted(datasetId)}`)
  return row
}

/** Hides a dataset. Only one job at a time can hide it. */
async function hideDataset(db: Kysely<Tables>, datasetId: string, erasureId: string): Promise<void> {
  const { hidden_by } = await mustHaveDataset(db, datasetId)
  if (hidden_by !== null) {
    throw new TidemarkError('conflict', `dataset ${quoted(datasetId)} is already being erased by ${hidden_by}`)
  }
  await db.updateTable('dataset').set({ hidden_by: erasureId }).where('dataset_id', '=', datasetId).execute()
}

/** When all documents of the job are hidden: shows the dataset again with new documents, or deletes the dataset. */
async function showDataset(
  db: Kysely<Tables>,
  { datasetId, below }: DatasetPart,
  row: ErasureRow,
  nowMs: number,
): Promise<Arrivals | null> {
  if (row.deletes_dataset === null) {
    await db.updateTable('dataset').set({ hidden_by: null }).where('dataset_id', '=', datasetId).execute()
    return arrivalsAfter(datasetId, { after: below, newest: await newestOf(db, datasetId) }, nowMs)
  }
  await db.deleteFrom('classification').where('dataset_id', '=', datasetId).execute()
  await audit(db, 'dataset.delete', datasetId, { erasureId: row.erasure_id }, { actor: row.actor, at: nowMs })
  await db.deleteFrom('dataset').where('dataset_id', '=', datasetId).execute()
  return null
}

/** Returns whether more documents are left. */
async function hideSome(db: Kysely<Tables>, row: ErasureRow, most: number, nowMs: number): Promise<boolean> {
  const selection = JSON.parse(row.selection!) as Selection
  const documents = await matching(db, selection).selectAll().orderBy('document_id').limit(most).execute()
  await hideFor(db, row, documents, nowMs)
  if (documents.length === most && !('documentIds' in selection)) return true
  const arrivals = 'dataset' in selection ? await showDataset(db, selection.dataset, row, nowMs) : null
  await db
    .updateTable('erasure')
    .set({ selection: null, arrivals: arrivals && JSON.stringify(arrivals) })
    .where('erasure_id', '=', row.erasure_id)
    .execute()
  return false
}

/**
 * Raises the bound of a selection to include every existing document. An id contains the time of the process that made
 * it, so if clocks differ, an existing document can have an id later than the requested moment.
 */
async function upToNow(db: Kysely<Tables>, selection: Selection): Promise<Selection> {
  const raised = async <Part extends Pick<AuthorPart, 'datasetId' | 'below'>>(part: Part): Promise<Part> => {
    const newest = await newestOf(db, part.datasetId)
    if (part.below === undefined || newest === null || newest < part.below) return part
    return { ...part, below: firstIdAt('doc', idTimeMs(newest) + 1) }
  }
  if ('dataset' in selection) return { dataset: await raised(selection.dataset) }
  if ('author' in selection) return { author: await raised(selection.author) }
  return selection
}

async function newestOf(db: Kysely<Tables>, datasetId: string): Promise<string | null> {
  const documents = db.selectFrom('document').select('document_id').where('dataset_id', '=', datasetId)
  const newest = await documents.orderBy('document_id', 'desc').limit(1).executeTakeFirst()
  return newest?.document_id ?? null
}

function matching(db: Kysely<Tables>, selection: Selection) {
  const documents = db.selectFrom('document')
  if ('documentIds' in selection) return documents.where('document_id', 'in', [...selection.documentIds])
  if (!('author' in selection)) {
    const { datasetId, below } = 'dataset' in selection ? selection.dataset : selection.expired
    return documents.where('dataset_id', '=', datasetId).where('document_id', '<', below)
  }
  const { datasetId, platform, externalAuthorId, below } = selection.author
  const ofAuthor = documents
    .where('source_platform', '=', platform)
    .where('external_author_id', '=', externalAuthorId)
    .where('dataset_id', '=', datasetId)
  return below === undefined ? ofAuthor : ofAuthor.where('document_id', '<', below)
}

const erasureOf = (row: ErasureRow): Erasure => ({
  erasureId: row.erasure_id,
  status: row.status as ErasureStatus,
  documents: row.documents,
  removed: row.completed_at === null ? (row.removed ?? 0) : row.documents,
  isHidden: row.selection === null,
  purgeArtifacts: row.purge_artifacts === 1,
  artifactRunIds: JSON.parse(row.artifact_run_ids),
  createdAt: row.created_at,
  completedAt: row.completed_at,
})
