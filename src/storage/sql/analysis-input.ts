import type { ExpressionBuilder, Kysely } from 'kysely'
import { versionLanguage } from '../../access/scope.ts'
import { storedEntitlement, storedPolicy } from '../../access/stored-rights.ts'
import type { AnalysisStore, ChunkText, InputQuery, InputRow } from '../../analysis/analysis-store.ts'
import { firstIdAt } from '../../platform/ids.ts'
import { parseKnownBound } from '../../platform/time.ts'
import { isVersionOpen } from './browse-conditions.ts'
import { readBodies } from './read-bodies.ts'
import type { Tables } from './tables.ts'
import { defaultProfile } from './vector-queue.ts'

type AnalysisInput = Pick<
  AnalysisStore,
  'application' | 'profile' | 'activeProfileIds' | 'inputRows' | 'chunkVectors' | 'inputTexts' | 'inputDocuments'
>

/** The number of bodies held in memory at once while chunk texts are cut from them. One body can have megabytes. */
const bodiesAtOnce = 16

/** The part of the store that analysis runs read. */
export function sqlAnalysisInput(db: Kysely<Tables>): AnalysisInput {
  return {
    async application(applicationId) {
      const row = await db
        .selectFrom('application')
        .select('policy')
        .where('application_id', '=', applicationId)
        .executeTakeFirst()
      if (row === undefined) return null
      const entries = await db
        .selectFrom('entitlement')
        .select(['entitlement_id', 'entry'])
        .where('application_id', '=', applicationId)
        .orderBy('position')
        .execute()
      return {
        policy: storedPolicy(row.policy, applicationId),
        entitlements: entries.map(({ entitlement_id, entry }) => storedEntitlement(entry, entitlement_id)),
      }
    },

    async profile(profileId) {
      const row = await db
        .selectFrom('embedding_profile')
        .select(['status', 'dimensions'])
        .where('profile_id', '=', profileId)
        .executeTakeFirst()
      return row === undefined ? null : { profileId, active: row.status === 'active', dimensions: row.dimensions }
    },

    async activeProfileIds() {
      const rows = await db
        .selectFrom('embedding_profile')
        .select('profile_id')
        .where('status', '=', 'active')
        .orderBy('profile_id')
        .execute()
      return rows.map((row) => row.profile_id)
    },

    async inputRows(query) {
      const hidden = db.selectFrom('dataset').select('dataset_id').where('hidden_by', 'is not', null)
      if ((await hidden.where('dataset_id', '=', query.datasetId).executeTakeFirst()) !== undefined) {
        return { rows: [], withoutVector: 0, isWaiting: false, nextAfter: null }
      }
      const { from, below } = boundsOf(query)
      const range = db
        .selectFrom('document')
        .select('document_id')
        .where('dataset_id', '=', query.datasetId)
        .where('document_id', query.afterDocument === null ? '>=' : '>', from)
        .where('document_id', '<', below)
      const last = await range
        .orderBy('document_id')
        .limit(1)
        .offset(query.documents - 1)
        .executeTakeFirst()
      const end = last?.document_id ?? null
      let matching = range
      if (end !== null) matching = matching.where('document_id', '<=', end)
      const { content_types, published_from, published_to } = query.inputScope
      if (content_types !== undefined) matching = matching.where('content_type', 'in', content_types)
      if (published_from !== undefined) matching = matching.where('published_at', '>=', parseKnownBound(published_from))
      if (published_to !== undefined) matching = matching.where('published_at', '<', parseKnownBound(published_to))
      const latest = db
        .selectFrom('document_version')
        .select((version) => version.fn.max('document_version.version_id').as('version_id'))
        .where('document_version.document_id', 'in', matching)
        // Ids begin with their time, so this selects everything made up to and including the cut-off.
        .where('document_version.version_id', '<', firstIdAt('ver', query.cutoffAt + 1))
        .groupBy('document_version.document_id')
      let readable = db
        .selectFrom('document_version')
        // A cross join, because SQLite then keeps this join order. Otherwise it would scan the whole dataset for every
        // range.
        .crossJoin('document')
        .select(['document_version.version_id', 'document_version.document_id'])
        .whereRef('document.document_id', '=', 'document_version.document_id')
        .where('document_version.version_id', 'in', latest)
      for (const scope of query.scopes) readable = readable.where(isVersionOpen(scope, 'document_version', 'document'))
      // One version for each document, so there are at most as many as the requested number of documents.
      const versions = await readable.execute()
      const versionIds = versions.map((row) => row.version_id)
      const empty = { rows: [], withoutVector: 0, isWaiting: false, nextAfter: end }
      if (versionIds.length === 0) return empty
      if (query.profileId === null) {
        const rows = versions.map((row) => ({
          chunkId: null,
          documentId: row.document_id,
          versionId: row.version_id,
        }))
        return { ...empty, rows: rows.slice(0, query.rowsMax) }
      }
      const rows = await rowsWithVector(db, query.profileId, query, versionIds)
      const missing = await chunksWithoutVector(db, query.profileId, versionIds)
      const isWaiting = missing.waiting > 0 || (await hasUnchunked(db, query.profileId, versionIds))
      return { rows, withoutVector: missing.chunks, isWaiting, nextAfter: end }
    },

    async chunkVectors(profileId, chunkIds) {
      if (chunkIds.length === 0) return []
      const rows = await db
        .selectFrom('chunk_vector')
        .select(['chunk_id', 'vector'])
        .where('profile_id', '=', profileId)
        .where('chunk_id', 'in', chunkIds)
        .execute()
      return rows.map((row) => ({ chunkId: row.chunk_id, vector: new Float32Array(new Uint8Array(row.vector).buffer) }))
    },

    async inputTexts(chunkIds) {
      if (chunkIds.length === 0) return []
      const chunks = await db
        .selectFrom('chunk')
        .select(['chunk_id', 'version_id', 'starts_at', 'ends_at'])
        .where('chunk_id', 'in', chunkIds)
        .execute()
      const chunksByVersion = Map.groupBy(chunks, (chunk) => chunk.version_id)
      const versionIds = [...chunksByVersion.keys()]
      const texts: ChunkText[] = []
      for (let start = 0; start < versionIds.length; start += bodiesAtOnce) {
        for (const { versionId, body } of await readBodies(db, versionIds.slice(start, start + bodiesAtOnce))) {
          for (const { chunk_id, starts_at, ends_at } of chunksByVersion.get(versionId)!) {
            texts.push({ chunkId: chunk_id, text: (body ?? '').slice(starts_at, ends_at) })
          }
        }
      }
      return texts
    },

    async inputDocuments(versionIds, cutoffAt) {
      if (versionIds.length === 0) return []
      const rows = await db
        .selectFrom('document_version')
        .innerJoin('document', 'document.document_id', 'document_version.document_id')
        .select([
          'document_version.version_id',
          'document_version.document_id',
          'document_version.title',
          'document_version.language as version_language',
          'document.language',
          'document.dataset_id',
          'document.source_platform',
          'document.region',
          'document.content_type',
          'document.published_at',
          'document.external_author_id',
          'document.topics',
          'document.tags',
          'document.classifications',
        ])
        .where('document_version.version_id', 'in', versionIds)
        .execute()
      if (rows.length === 0) return []
      const latest = db
        .selectFrom('snapshot')
        .select((snapshot) => snapshot.fn.max('snapshot_id').as('snapshot_id'))
        .where(
          'document_id',
          'in',
          rows.map((row) => row.document_id),
        )
        .where('snapshot_id', '<', firstIdAt('snp', cutoffAt + 1))
        .groupBy('document_id')
      const snapshots = await db
        .selectFrom('snapshot')
        .select(['document_id', 'score', 'metrics'])
        .where('snapshot_id', 'in', latest)
        .execute()
      const snapshotOf = new Map(snapshots.map((row) => [row.document_id, row]))
      const list = (json: string | null): string[] => (json === null ? [] : JSON.parse(json))
      return rows.map((row) => {
        const snapshot = snapshotOf.get(row.document_id)
        return {
          versionId: row.version_id,
          document: {
            datasetId: row.dataset_id,
            platform: row.source_platform,
            language: versionLanguage(row.version_language, row.language),
            region: row.region,
            contentType: row.content_type,
            publishedAt: row.published_at,
            title: row.title,
            authorId: row.external_author_id,
            topics: list(row.topics),
            tags: list(row.tags),
            classifications: list(row.classifications),
            score: snapshot?.score ?? null,
            metrics: snapshot?.metrics == null ? {} : JSON.parse(snapshot.metrics),
          },
        }
      })
    },
  }
}

async function rowsWithVector(
  db: Kysely<Tables>,
  profileId: string,
  { rowsMax }: InputQuery,
  versionIds: readonly string[],
): Promise<InputRow[]> {
  const rows = await chunksOf(db, versionIds)
    .select(['chunk.chunk_id', 'chunk.document_id', 'chunk.version_id'])
    // Not a join: a planner without statistics would scan all vectors of the profile for every page.
    .where((eb) => eb.exists(vectorOf(eb, profileId)))
    .limit(rowsMax)
    .execute()
  return rows.map((row) => ({ chunkId: row.chunk_id, documentId: row.document_id, versionId: row.version_id }))
}

async function chunksWithoutVector(
  db: Kysely<Tables>,
  profileId: string,
  versionIds: readonly string[],
): Promise<{ chunks: number; waiting: number }> {
  const row = await chunksOf(db, versionIds)
    .leftJoin('pending_vector', (join) =>
      join.on('pending_vector.profile_id', '=', profileId).onRef('pending_vector.chunk_id', '=', 'chunk.chunk_id'),
    )
    .whereRef('chunk.ends_at', '>', 'chunk.starts_at')
    .where((eb) => eb.not(eb.exists(vectorOf(eb, profileId))))
    .select((eb) => [
      eb.fn.countAll<number>().as('chunks'),
      eb.fn.count<number>('pending_vector.chunk_id').as('waiting'),
    ])
    .executeTakeFirstOrThrow()
  return { chunks: Number(row.chunks), waiting: Number(row.waiting) }
}

/** Whether any of the versions is so new that it has no chunks yet, and its chunks will get vectors of the profile. */
async function hasUnchunked(db: Kysely<Tables>, profileId: string, versionIds: readonly string[]): Promise<boolean> {
  const chunked = await chunksOf(db, versionIds)
    .select((eb) => eb.fn.count<number>('chunk.version_id').distinct().as('versions'))
    .executeTakeFirstOrThrow()
  return Number(chunked.versions) < versionIds.length && (await defaultProfile(db)) === profileId
}

const chunksOf = (db: Kysely<Tables>, versionIds: readonly string[]) =>
  db.selectFrom('chunk').where('chunk.version_id', 'in', versionIds).where('chunk.replaced', 'is', null)

const vectorOf = (eb: ExpressionBuilder<Tables, 'chunk'>, profileId: string) =>
  eb
    .selectFrom('chunk_vector')
    .select('chunk_vector.chunk_id')
    .where('chunk_vector.profile_id', '=', profileId)
    .whereRef('chunk_vector.chunk_id', '=', 'chunk.chunk_id')

/** A document's first-ingest time is part of its id, so every time bound is an id bound. */
function boundsOf({ inputScope, cutoffAt, afterDocument }: InputQuery): { from: string; below: string } {
  const { created_from, created_to } = inputScope
  const from = firstIdAt('doc', created_from === undefined ? 0 : parseKnownBound(created_from))
  const end = created_to === undefined ? cutoffAt + 1 : Math.min(cutoffAt + 1, parseKnownBound(created_to))
  return { from: afterDocument ?? from, below: firstIdAt('doc', end) }
}
