import { CompiledQuery, type Kysely } from 'kysely'
import type { ContentStore, IncomingDocument, IngestResult } from '../../ingest/content-store.ts'
import { BatchRecord, DocumentState } from '../../ingest/document-state.ts'
import { idTimeMs, newId } from '../../platform/ids.ts'
import { isNotBeingDeleted } from './datasets-being-deleted.ts'
import {
  documentRow,
  eventRow,
  factSetRow,
  knownDocument,
  snapshotRow,
  termsAdded,
  termsRemoved,
  versionRow,
} from './document-rows.ts'
import { hideSentAgain } from './hide-for-erasure.ts'
import { idLists } from './id-lists.ts'
import { lastRevision } from './index-revisions.ts'
import { insertRows } from './insert-rows.ts'
import type { DocumentRow, DocumentTermRow, Tables } from './tables.ts'
import { together } from './together.ts'
import { erasedAmong, knownTombstones } from './tombstones.ts'

export function sqlContentStore(db: Kysely<Tables>): ContentStore {
  const knownDatasets = () =>
    db.selectFrom('dataset').select(['dataset_id', 'hidden_by']).where(isNotBeingDeleted).execute()
  const updateDocument = updatingDocument(db)

  return {
    knownDatasets: async () => (await knownDatasets()).map((row) => row.dataset_id),

    async ingest(documents, nowMs) {
      const read = () =>
        together(db, [() => readStates(db, documents), () => knownTombstones(db), () => lastRevision(db)])
      const [datasetRows, found] = await together(db, [knownDatasets, read])
      const datasets = new Set(datasetRows.map((row) => row.dataset_id))
      const arriveAfter = new Map<string, number>()
      for (const { dataset_id, hidden_by } of datasetRows) {
        const sent = hidden_by === null ? [] : documents.filter((one) => one.datasetId === dataset_id)
        if (sent.length === 0) continue
        const below = await hideSentAgain(db, hidden_by!, sent, nowMs)
        arriveAfter.set(dataset_id, below === null ? nowMs : idTimeMs(below))
      }
      const [states, tombstones, last] = arriveAfter.size > 0 ? await read() : found
      const erased = await erasedAmong(
        db,
        tombstones,
        documents.filter((one) => !states.has(identityOf(one))),
      )
      const results: IngestResult[] = []
      let revision = last
      const revise = (): number => ++revision
      const touched = new Set<DocumentState>()
      const seen = new Set<DocumentState>()
      const record = new BatchRecord()

      for (const incoming of documents) {
        if (!datasets.has(incoming.datasetId)) {
          const message = `dataset ${JSON.stringify(incoming.datasetId)} does not exist: an operator has to create it`
          results.push({
            refusal: { code: 'unknown_dataset', message, details: [{ path: 'dataset_id', message: 'does not exist' }] },
          })
          continue
        }
        if (erased.has(incoming)) {
          results.push({ outcome: 'erased' })
          continue
        }
        const identity = identityOf(incoming)
        let state = states.get(identity)
        if (state === undefined) {
          state = DocumentState.fresh(newId('doc', Math.max(nowMs, arriveAfter.get(incoming.datasetId) ?? nowMs)))
          states.set(identity, state)
        }
        if (state.needsBody(incoming)) state.setBody(await currentBody(db, state.document.currentVersionId))
        const outcome = state.merge(incoming, record, nowMs, revise)
        const group = outcome === 'unchanged' ? seen : touched
        group.add(state)
        results.push({ documentId: state.document.documentId, versionId: state.document.currentVersionId, outcome })
      }

      const created = [...touched].filter((state) => state.before === null)
      const changed = [...touched].filter((state) => state.before !== null)
      await together(db, [
        () =>
          insertRows(
            db,
            'document',
            created.map((state) => documentRow(state.document)),
          ),
        ...changed.map((state) => () => updateDocument(documentRow(state.document))),
        ...updatesOfSeen(db, [...seen.difference(touched)]),
        ...changed.flatMap(termsRemoved).map((term) => () => removeTerm(db, term)),
        () => insertRows(db, 'document_term', [...touched].flatMap(termsAdded)),
        () => insertRows(db, 'document_version', record.versions.map(versionRow)),
        () => insertRows(db, 'snapshot', record.snapshots.map(snapshotRow)),
        () => insertRows(db, 'fact_set', record.factSets.map(factSetRow)),
        // All events together, so that the sequence follows the order of the documents.
        () => insertRows(db, 'event', record.events.map(eventRow)),
      ])
      for (const { versionId, language, indexRevision } of record.languageFixes) {
        await db
          .updateTable('document_version')
          .set({ language, index_revision: indexRevision })
          .where('version_id', '=', versionId)
          .execute()
      }
      for (const { documentId, indexRevision } of record.followed) {
        await db
          .updateTable('document_version')
          .set({ index_revision: indexRevision })
          .where('document_id', '=', documentId)
          .where('language', 'is', null)
          .execute()
      }
      return results
    },
  }
}

const identityOf = (one: Pick<IncomingDocument, 'datasetId' | 'platform' | 'externalId'>): string =>
  `${one.datasetId}\u0000${one.platform}\u0000${one.externalId}`

async function readStates(
  db: Kysely<Tables>,
  documents: readonly IncomingDocument[],
): Promise<Map<string, DocumentState>> {
  const reads: (() => Promise<DocumentRow[]>)[] = []
  for (const group of Map.groupBy(documents, (one) => `${one.datasetId}\u0000${one.platform}`).values()) {
    const { datasetId, platform } = group[0]!
    const externalIds = [...new Set(group.map((one) => one.externalId))]
    for (const someIds of idLists(externalIds)) {
      const rows = db
        .selectFrom('document')
        .selectAll()
        .where('dataset_id', '=', datasetId)
        .where('source_platform', '=', platform)
        .where('external_id', 'in', someIds)
      reads.push(() => rows.execute())
    }
  }
  const states = new Map<string, DocumentState>()
  for (const row of (await together(db, reads)).flat()) {
    const document = knownDocument(row)
    states.set(identityOf(document), DocumentState.stored(document))
  }
  return states
}

/** Compiles the statement once, because compiling takes longer than writing the row. */
function updatingDocument(db: Kysely<Tables>): (row: DocumentRow) => Promise<unknown> {
  let text: string | undefined
  return ({ document_id, ...rest }) => {
    text ??= db.updateTable('document').set(rest).where('document_id', '=', document_id).compile().sql
    return db.executeQuery(CompiledQuery.raw(text, [...Object.values(rest), document_id]))
  }
}

/**
 * Updates documents that were sent again unchanged. Nearly all documents of a batch have the same time, so one
 * statement updates many.
 */
function* updatesOfSeen(db: Kysely<Tables>, seen: readonly DocumentState[]): Generator<() => Promise<unknown>> {
  const later = seen.filter(({ document, before }) => document.seenAt !== before?.seenAt)
  for (const [seenAt, states] of Map.groupBy(later, ({ document }) => document.seenAt)) {
    for (const ids of idLists(states.map(({ document }) => document.documentId))) {
      yield () => db.updateTable('document').set({ updated_at: seenAt }).where('document_id', 'in', ids).execute()
    }
  }
}

const removeTerm = (db: Kysely<Tables>, term: DocumentTermRow): Promise<unknown> =>
  db
    .deleteFrom('document_term')
    .where('kind', '=', term.kind)
    .where('value', '=', term.value)
    .where('dataset_id', '=', term.dataset_id)
    .where('document_id', '=', term.document_id)
    .execute()

async function currentBody(db: Kysely<Tables>, versionId: string): Promise<string | null> {
  const row = await db
    .selectFrom('document_version')
    .select('body')
    .where('version_id', '=', versionId)
    .executeTakeFirstOrThrow()
  return row.body
}
