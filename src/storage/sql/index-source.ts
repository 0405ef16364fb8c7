import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Scope, versionLanguage } from '../../access/scope.ts'
import { idTimeMs } from '../../ids.ts'
import type { ChunkText, IndexSource, SourceDocument, SourceVersion } from '../../search/index-source.ts'
import type { VersionColumns } from '../../search/search-index.ts'
import { versionTest } from './browse-conditions.ts'
import { statusOf } from './document-state.ts'
import { insertRows } from './insert-rows.ts'
import type { ChunkRow, DocumentRow, DocumentVersionRow, Tables } from './tables.ts'

export function sqlIndexSource(db: Kysely<Tables>): IndexSource {
  return {
    async documentsAfter(revision, limits) {
      const rows = await db
        .selectFrom('document')
        .select(['document_id', 'index_revision', 'current_version_id', ...columnNames])
        .where('index_revision', '>', revision)
        .orderBy('index_revision')
        .limit(limits.documents)
        .execute()
      const documents: SourceDocument[] = []
      let characters = 0
      for (const row of rows) {
        const versions = await db
          .selectFrom('document_version')
          .selectAll()
          .where('document_id', '=', row.document_id)
          .where('index_revision', '>', revision)
          .orderBy('version_id')
          .execute()
        documents.push({
          documentId: row.document_id,
          revision: row.index_revision,
          columns: columnsOf(row),
          versions: await withVectors(db, versions, row.current_version_id),
        })
        characters += versions.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
        if (characters >= limits.characters) break
      }
      return documents
    },

    async newestRevision() {
      const row = await db
        .selectFrom('document')
        .select('index_revision')
        .orderBy('index_revision', 'desc')
        .limit(1)
        .executeTakeFirst()
      return row?.index_revision ?? 0
    },

    async putChunks(chunks, profileIds) {
      const there = new Set<string>()
      for (const versionId of new Set(chunks.map((chunk) => chunk.versionId))) {
        const rows = await db.selectFrom('chunk').select('chunk_id').where('version_id', '=', versionId).execute()
        for (const { chunk_id } of rows) there.add(chunk_id)
      }
      const fresh = chunks.filter((chunk) => !there.has(chunk.chunkId))
      await insertRows(
        db,
        'chunk',
        fresh.map((chunk) => ({
          chunk_id: chunk.chunkId,
          document_id: chunk.documentId,
          version_id: chunk.versionId,
          ordinal: chunk.ordinal,
          starts_at: chunk.startsAt,
          ends_at: chunk.endsAt,
        })),
      )
      const waiting = fresh.filter((chunk) => chunk.endsAt > chunk.startsAt)
      await insertRows(
        db,
        'pending_vector',
        profileIds.flatMap((profile_id) => waiting.map(({ chunkId }) => ({ profile_id, chunk_id: chunkId }))),
      )
    },

    async awaitVectors(profileId) {
      const added = await db
        .insertInto('pending_vector')
        .columns(['profile_id', 'chunk_id'])
        .expression((eb) =>
          eb
            .selectFrom('chunk')
            .innerJoin('document', 'document.current_version_id', 'chunk.version_id')
            .select([eb.val(profileId).as('profile_id'), 'chunk.chunk_id'])
            .whereRef('chunk.ends_at', '>', 'chunk.starts_at')
            .where(({ not, exists, selectFrom }) =>
              not(
                exists(
                  selectFrom('chunk_vector')
                    .select('chunk_vector.chunk_id')
                    .where('chunk_vector.profile_id', '=', profileId)
                    .whereRef('chunk_vector.chunk_id', '=', 'chunk.chunk_id'),
                ),
              ),
            ),
        )
        .onConflict((conflict) => conflict.columns(['profile_id', 'chunk_id']).doNothing())
        .executeTakeFirst()
      return Number(added.numInsertedOrUpdatedRows ?? 0)
    },

    async waitingChunks(profileId, limit) {
      const rows = await db
        .selectFrom('pending_vector')
        .innerJoin('chunk', 'chunk.chunk_id', 'pending_vector.chunk_id')
        .innerJoin('document_version', 'document_version.version_id', 'chunk.version_id')
        .leftJoin('chunk_vector', (join) =>
          join
            .onRef('chunk_vector.chunk_id', '=', 'pending_vector.chunk_id')
            .onRef('chunk_vector.profile_id', '=', 'pending_vector.profile_id'),
        )
        .select(['pending_vector.chunk_id', 'chunk.document_id', 'starts_at', 'ends_at', 'body', 'vector'])
        .where('pending_vector.profile_id', '=', profileId)
        .orderBy('pending_vector.chunk_id')
        .limit(limit)
        .execute()
      return rows.map((row) => ({
        chunkId: row.chunk_id,
        documentId: row.document_id,
        text: (row.body ?? '').slice(row.starts_at, row.ends_at),
        vector: row.vector === null ? null : asFloats(row.vector),
      }))
    },

    async putVectors(profileId, vectors) {
      for (const { chunkId, vector } of vectors) {
        const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
        await db
          .insertInto('chunk_vector')
          .values({ profile_id: profileId, chunk_id: chunkId, vector: bytes })
          .onConflict((conflict) => conflict.columns(['profile_id', 'chunk_id']).doUpdateSet({ vector: bytes }))
          .execute()
      }
    },

    async vectors(chunkIds) {
      if (chunkIds.length === 0) return []
      const rows = await db
        .selectFrom('chunk')
        .innerJoin('chunk_vector', 'chunk_vector.chunk_id', 'chunk.chunk_id')
        .select(['profile_id', 'chunk.chunk_id', 'document_id', 'vector'])
        .where('chunk.chunk_id', 'in', chunkIds)
        .where('profile_id', 'in', (eb) => eb.selectFrom('embedding_profile').select('profile_id'))
        .execute()
      return rows.map((row) => ({
        profileId: row.profile_id,
        chunkId: row.chunk_id,
        documentId: row.document_id,
        vector: asFloats(row.vector),
      }))
    },

    async stillWaiting(profileId, chunkIds) {
      if (chunkIds.length === 0) return []
      const rows = await db
        .selectFrom('pending_vector')
        .select('chunk_id')
        .where('profile_id', '=', profileId)
        .where('chunk_id', 'in', chunkIds)
        .execute()
      return rows.map((row) => row.chunk_id)
    },

    async vectorsAfter(profileId, chunkId, limit) {
      const rows = await db
        .selectFrom('chunk_vector')
        .innerJoin('chunk', 'chunk.chunk_id', 'chunk_vector.chunk_id')
        .select(['chunk.chunk_id', 'document_id', 'vector'])
        .where('profile_id', '=', profileId)
        .where('chunk_vector.chunk_id', '>', chunkId)
        .orderBy('chunk_vector.chunk_id')
        .limit(limit)
        .execute()
      return rows.map((row) => ({
        chunkId: row.chunk_id,
        documentId: row.document_id,
        vector: asFloats(row.vector),
      }))
    },

    async vectorCount(profileId) {
      const row = await db
        .selectFrom('chunk_vector')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('profile_id', '=', profileId)
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },

    async doneWaiting(profileId, chunkIds) {
      for (const chunkId of chunkIds) {
        await db
          .deleteFrom('pending_vector')
          .where('profile_id', '=', profileId)
          .where('chunk_id', '=', chunkId)
          .execute()
      }
    },

    async backlog(indexedRevision) {
      const documents = await db
        .selectFrom('document')
        .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('updated_at').as('oldest')])
        .where('index_revision', '>', indexedRevision)
        .executeTakeFirstOrThrow()
      const vectors = await db
        .selectFrom('pending_vector')
        .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('chunk_id').as('oldest')])
        .where('profile_id', 'in', (eb) =>
          eb.selectFrom('embedding_profile').select('profile_id').where('is_default', '=', 1),
        )
        .executeTakeFirstOrThrow()
      const times = [
        ...(documents.oldest === null ? [] : [Number(documents.oldest)]),
        ...(vectors.oldest === null ? [] : [idTimeMs(vectors.oldest)]),
      ]
      return {
        documents: Number(documents.count),
        waitingVectors: Number(vectors.count),
        oldestAt: times.length === 0 ? null : Math.min(...times),
      }
    },

    async chunkCount() {
      const row = await db
        .selectFrom('chunk')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },

    async results(documentIds) {
      if (documentIds.length === 0) return []
      const rows = await db
        .selectFrom('document')
        .select(['document_id', 'title', 'quality', 'current_version_id', ...columnNames])
        .where('document_id', 'in', documentIds)
        .execute()
      return rows.map((row) => ({
        ...columnsOf(row),
        documentId: row.document_id,
        title: row.title,
        quality: row.quality,
        currentVersionId: row.current_version_id,
      }))
    },

    async versionHeads(versionIds) {
      if (versionIds.length === 0) return []
      const rows = await db
        .selectFrom('document_version')
        .innerJoin('document', 'document.document_id', 'document_version.document_id')
        .select([
          'version_id',
          'document_version.title',
          'document_version.language',
          'document.language as document_language',
        ])
        .where('version_id', 'in', versionIds)
        .execute()
      return rows.map((row) => ({
        versionId: row.version_id,
        title: row.title,
        language: versionLanguage(row.language, row.document_language),
      }))
    },

    async chunkTexts(chunkIds) {
      if (chunkIds.length === 0) return []
      return (await chunkRows(db, chunkIds).select('body').execute()).map(asChunkText)
    },

    async shownChunks(chunkIds, scope) {
      if (chunkIds.length === 0) return []
      const rows = await chunkRows(db, chunkIds)
        .innerJoin('document', 'document.document_id', 'chunk.document_id')
        .select([
          openBody(scope).as('body'),
          'dataset_id',
          'source_platform',
          'document.language as document_language',
          'region',
          'document.published_at as document_published_at',
          'content_type',
          'status',
        ])
        .execute()
      return rows.map((row) => ({
        ...asChunkText(row),
        document: columnsOf({
          ...row,
          language: versionLanguage(row.language, row.document_language),
          published_at: row.document_published_at,
        }),
      }))
    },
  }
}

/** What the index and the results know of a document beside its texts. */
const columnNames = [
  'dataset_id',
  'source_platform',
  'language',
  'region',
  'published_at',
  'content_type',
  'status',
] as const satisfies readonly (keyof DocumentRow)[]

function columnsOf(row: Pick<DocumentRow, (typeof columnNames)[number]>): VersionColumns {
  return {
    datasetId: row.dataset_id,
    platform: row.source_platform,
    language: row.language,
    region: row.region,
    publishedAt: row.published_at,
    contentType: row.content_type,
    status: statusOf(row),
  }
}

const chunkRows = (db: Kysely<Tables>, chunkIds: readonly string[]) =>
  db
    .selectFrom('chunk')
    .innerJoin('document_version', 'document_version.version_id', 'chunk.version_id')
    .select([
      'chunk.chunk_id',
      'chunk.document_id',
      'chunk.version_id',
      'ordinal',
      'starts_at',
      'ends_at',
      'document_version.title',
      'document_version.language',
    ])
    .where('chunk.chunk_id', 'in', chunkIds)

/** The body where the scope opens it, else null. Mostly it opens all or none, and need not be asked for each. */
function openBody(scope: Scope): RawBuilder<string | null> {
  const entries = scope.entries.filter(({ fields }) => fields.includes('body'))
  if (entries.length === 0) return sql<null>`null`
  if (entries.length === scope.entries.length) return sql.ref<string | null>('document_version.body')
  return sql`case when ${versionTest({ entries }, 'document_version', 'document')} then document_version.body end`
}

type ChunkWithText = Pick<ChunkRow, 'chunk_id' | 'document_id' | 'version_id' | 'ordinal' | 'starts_at' | 'ends_at'> &
  Pick<DocumentVersionRow, 'title' | 'language' | 'body'>

function asChunkText(row: ChunkWithText): ChunkText {
  return {
    chunkId: row.chunk_id,
    documentId: row.document_id,
    versionId: row.version_id,
    ordinal: row.ordinal,
    title: row.title,
    language: row.language,
    text: (row.body ?? '').slice(row.starts_at, row.ends_at),
  }
}

async function withVectors(
  db: Kysely<Tables>,
  versions: readonly DocumentVersionRow[],
  currentVersionId: string,
): Promise<SourceVersion[]> {
  const made: SourceVersion[] = []
  for (const version of versions) {
    const vectors = await db
      .selectFrom('chunk')
      .innerJoin('chunk_vector', 'chunk_vector.chunk_id', 'chunk.chunk_id')
      .select(['profile_id', 'chunk.chunk_id', 'vector'])
      .where('chunk.version_id', '=', version.version_id)
      .where('profile_id', 'in', (eb) => eb.selectFrom('embedding_profile').select('profile_id'))
      .execute()
    made.push({
      versionId: version.version_id,
      current: version.version_id === currentVersionId,
      language: version.language,
      title: version.title,
      body: version.body,
      vectors: vectors.map((row) => ({
        profileId: row.profile_id,
        chunkId: row.chunk_id,
        vector: asFloats(row.vector),
      })),
    })
  }
  return made
}

/** Copied, because the bytes a driver hands out need not be aligned to four. */
function asFloats(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer)
}
