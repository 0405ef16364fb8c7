import { type Kysely, sql } from 'kysely'
import type { ActiveProfile, IndexSource } from '../../indexing/index-source.ts'
import type { ChunkRecord } from '../../search/version-chunks.ts'
import { idLists } from './id-lists.ts'
import { insertRows } from './insert-rows.ts'
import type { Tables } from './tables.ts'

/**
 * Records which chunks have a vector and which wait for one.
 *
 * The invariant: for every profile that makes vectors of its language, every chunk with a text that is not replaced has
 * a vector, waits for one, or was refused by the model. It holds after every transaction, because the transaction that
 * writes a chunk or changes a profile also queues the chunks. The one exception: a text whose language changes is
 * queued for a profile of that language a moment later, when it is indexed again.
 */
type VectorQueue = Pick<
  IndexSource,
  | 'putChunks'
  | 'activeProfiles'
  | 'awaitVectors'
  | 'waitingChunks'
  | 'stillWaiting'
  | 'putVectors'
  | 'vectors'
  | 'doneWaiting'
  | 'refuseVectors'
  | 'vectorGaps'
>

export function sqlVectorQueue(db: Kysely<Tables>): VectorQueue {
  return {
    activeProfiles: () => activeProfiles(db),

    async putChunks(received) {
      const chunks = await ofExistingDocuments(db, received)
      const versionIds = [...new Set(chunks.map(({ versionId }) => versionId))]
      const found: { chunk_id: string; replaced: number | null }[] = []
      for (const some of idLists(versionIds)) {
        const rows = db.selectFrom('chunk').select(['chunk_id', 'replaced']).where('version_id', 'in', some)
        found.push(...(await rows.execute()))
      }
      const there = new Set(found.map((row) => row.chunk_id))
      const fresh = chunks.filter(({ chunkId }) => !there.has(chunkId))
      await insertRows(db, 'chunk', fresh.map(rowOf))
      await insertRows(
        db,
        'text_chunk',
        fresh.flatMap(({ chunkId, textHash }) => (textHash === null ? [] : { text_hash: textHash, chunk_id: chunkId })),
      )
      const kept = new Set(chunks.map(({ chunkId }) => chunkId))
      await markReplaced(
        db,
        found.filter((row) => row.replaced === null && !kept.has(row.chunk_id)).map((row) => row.chunk_id),
      )
      await markCurrent(
        db,
        found.filter((row) => row.replaced !== null && kept.has(row.chunk_id)).map((row) => row.chunk_id),
      )
      for (const profile of await activeProfiles(db)) {
        for (const some of idLists([...kept])) {
          // Chunks that the model refused are tried again too, because another model may now have the same name.
          await db
            .deleteFrom('refused_vector')
            .where('profile_id', '=', profile.profileId)
            .where('chunk_id', 'in', some)
            .execute()
          const missing = await lostChunks(db, profile)
            .select('chunk.chunk_id')
            .where('chunk.chunk_id', 'in', some)
            .execute()
          await enqueue(
            db,
            profile.profileId,
            missing.map((row) => row.chunk_id),
          )
        }
      }
    },

    async awaitVectors(profileId, chunkIds) {
      const made = (await activeProfiles(db)).find((one) => one.profileId === profileId)
      let awaited = 0
      for (const some of idLists(chunkIds)) {
        const lost = await lostChunks(db, made ?? { profileId, languages: null })
          .select('chunk.chunk_id')
          .where('chunk.chunk_id', 'in', some)
          .execute()
        await enqueue(
          db,
          profileId,
          lost.map((row) => row.chunk_id),
        )
        awaited += lost.length
      }
      return awaited
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
        .select(['pending_vector.chunk_id', 'chunk.document_id', 'starts_at', 'ends_at', 'body', 'text_hash', 'vector'])
        .where('pending_vector.profile_id', '=', profileId)
        .orderBy('pending_vector.chunk_id', 'desc')
        .limit(limit)
        .execute()
      const missing = rows.filter((row) => row.vector === null).flatMap((row) => row.text_hash ?? [])
      const made = await vectorsOfTexts(db, profileId, missing)
      return rows.map((row) => ({
        chunkId: row.chunk_id,
        documentId: row.document_id,
        text: (row.body ?? '').slice(row.starts_at, row.ends_at),
        vector: row.vector === null ? null : asFloats(row.vector),
        twin: row.vector === null && row.text_hash !== null ? (made.get(row.text_hash) ?? null) : null,
      }))
    },

    async stillWaiting(profileId, chunkIds) {
      const waiting: string[] = []
      for (const some of idLists(chunkIds)) {
        const rows = await db
          .selectFrom('pending_vector')
          .select('chunk_id')
          .where('profile_id', '=', profileId)
          .where('chunk_id', 'in', some)
          .execute()
        for (const row of rows) waiting.push(row.chunk_id)
      }
      return waiting
    },

    async putVectors(profileId, vectors) {
      const there = new Set<string>()
      for (const some of idLists(vectors.map(({ chunkId }) => chunkId))) {
        for (const row of await db.selectFrom('chunk').select('chunk_id').where('chunk_id', 'in', some).execute()) {
          there.add(row.chunk_id)
        }
      }
      for (const { chunkId, vector } of vectors) {
        if (!there.has(chunkId)) continue
        const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
        await db
          .insertInto('chunk_vector')
          .values({ profile_id: profileId, chunk_id: chunkId, vector: bytes })
          .onConflict((conflict) => conflict.columns(['profile_id', 'chunk_id']).doUpdateSet({ vector: bytes }))
          .execute()
      }
    },

    async vectors(profileId, chunkIds) {
      const found = []
      for (const some of idLists(chunkIds)) {
        const rows = await db
          .selectFrom('chunk')
          .innerJoin('chunk_vector', 'chunk_vector.chunk_id', 'chunk.chunk_id')
          .select(['chunk.chunk_id', 'document_id', 'vector'])
          .where('profile_id', '=', profileId)
          .where('chunk.chunk_id', 'in', some)
          .execute()
        for (const row of rows) {
          found.push({ chunkId: row.chunk_id, documentId: row.document_id, vector: asFloats(row.vector) })
        }
      }
      return found
    },

    async doneWaiting(profileId, chunkIds) {
      for (const some of idLists(chunkIds)) {
        await db
          .deleteFrom('pending_vector')
          .where('profile_id', '=', profileId)
          .where('chunk_id', 'in', some)
          .where(({ exists, selectFrom }) =>
            exists(
              selectFrom('chunk_vector')
                .select('chunk_vector.chunk_id')
                .whereRef('chunk_vector.profile_id', '=', 'pending_vector.profile_id')
                .whereRef('chunk_vector.chunk_id', '=', 'pending_vector.chunk_id'),
            ),
          )
          .execute()
      }
    },

    async refuseVectors(profileId, chunkIds) {
      // Only chunks that still wait: another process may have made the vector, or the chunk may have been replaced.
      for (const some of idLists(chunkIds)) {
        const gone = await db
          .deleteFrom('pending_vector')
          .where('profile_id', '=', profileId)
          .where('chunk_id', 'in', some)
          .returning('chunk_id')
          .execute()
        await insertRows(
          db,
          'refused_vector',
          gone.map(({ chunk_id }) => ({ profile_id: profileId, chunk_id })),
        )
      }
    },

    async vectorGaps() {
      const gaps = { lost: 0, refused: 0 }
      for (const profile of await activeProfiles(db)) {
        const lost = await lostChunks(db, profile)
          .select((eb) => eb.fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
        const refused = await db
          .selectFrom('refused_vector')
          .select((eb) => eb.fn.countAll<number>().as('count'))
          .where('profile_id', '=', profile.profileId)
          .executeTakeFirstOrThrow()
        gaps.lost += Number(lost.count)
        gaps.refused += Number(refused.count)
      }
      return gaps
    },
  }
}

/**
 * Queues every chunk that should have a vector of the profile. Called when the service starts to make vectors of the
 * profile.
 */
export async function awaitAllVectors(db: Kysely<Tables>, profile: ActiveProfile): Promise<void> {
  await db
    .insertInto('pending_vector')
    .columns(['profile_id', 'chunk_id'])
    .expression((eb) =>
      chunksWithoutVector(db, profile).select([
        eb.val(profile.profileId).as('profile_id'),
        'chunk.chunk_id as chunk_id',
      ]),
    )
    .onConflict((conflict) => conflict.columns(['profile_id', 'chunk_id']).doNothing())
    .execute()
}

/** Chunks that should have a vector of the profile, and neither have one nor were refused. */
const chunksWithoutVector = (db: Kysely<Tables>, { profileId, languages }: ActiveProfile) =>
  db
    .selectFrom('chunk')
    .whereRef('chunk.ends_at', '>', 'chunk.starts_at')
    .where('chunk.replaced', 'is', null)
    .where(hasNoRowIn('chunk_vector', profileId))
    .where(hasNoRowIn('refused_vector', profileId))
    .$if(languages !== null, (chunks) => chunks.where(isInLanguage(languages!)))

/** Only texts that declare their language, because a search can distinguish them from the others. */
const isInLanguage = (languages: readonly string[]) =>
  sql<boolean>`exists (
    select 1 from document_version version join document on document.document_id = version.document_id
    where version.version_id = chunk.version_id
    and coalesce(version.language, document.language) in (${sql.join(languages)})
  )`

/** Vectors that other chunks with the same text already have. */
async function vectorsOfTexts(
  db: Kysely<Tables>,
  profileId: string,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, Float32Array>> {
  const found = new Map<string, Float32Array>()
  for (const some of idLists([...new Set(hashes)])) {
    const rows = await db
      .selectFrom('text_chunk')
      .innerJoin('chunk_vector', 'chunk_vector.chunk_id', 'text_chunk.chunk_id')
      .select((eb) => ['text_hash', eb.fn.min('text_chunk.chunk_id').as('chunk_id')])
      .where('profile_id', '=', profileId)
      .where('text_hash', 'in', some)
      .groupBy('text_hash')
      .execute()
    const hashOf = new Map(rows.map((row) => [row.chunk_id, row.text_hash]))
    if (hashOf.size === 0) continue
    const vectors = await db
      .selectFrom('chunk_vector')
      .select(['chunk_id', 'vector'])
      .where('profile_id', '=', profileId)
      .where('chunk_id', 'in', [...hashOf.keys()])
      .execute()
    for (const row of vectors) found.set(hashOf.get(row.chunk_id)!, asFloats(row.vector))
  }
  return found
}

/** Chunks without a vector that are not queued either. The invariant says that there are none. */
const lostChunks = (db: Kysely<Tables>, profile: ActiveProfile) =>
  chunksWithoutVector(db, profile).where(hasNoRowIn('pending_vector', profile.profileId))

const hasNoRowIn = (table: 'chunk_vector' | 'refused_vector' | 'pending_vector', profileId: string) =>
  sql<boolean>`not exists (
    select 1 from ${sql.table(table)} other where other.profile_id = ${profileId} and other.chunk_id = chunk.chunk_id
  )`

export async function defaultProfile(db: Kysely<Tables>): Promise<string | null> {
  const row = await db
    .selectFrom('embedding_profile')
    .select('profile_id')
    .where('is_default', '=', 1)
    .executeTakeFirst()
  return row?.profile_id ?? null
}

/** The value of `vectors_for` for a profile that makes vectors of every text. */
export const anyLanguage = '*'

async function activeProfiles(db: Kysely<Tables>): Promise<ActiveProfile[]> {
  const rows = await db
    .selectFrom('embedding_profile')
    .select(['profile_id', 'vectors_for'])
    .orderBy('is_default', 'desc')
    .orderBy('profile_id')
    .execute()
  return rows.flatMap(({ profile_id: profileId, vectors_for: vectorsFor }) => {
    if (vectorsFor === null) return []
    return { profileId, languages: vectorsFor === anyLanguage ? null : vectorsFor.split(',') }
  })
}

/** Drops chunks whose document has been erased since it was read. */
async function ofExistingDocuments(
  db: Kysely<Tables>,
  chunks: readonly ChunkRecord[],
): Promise<readonly ChunkRecord[]> {
  const there = new Set<string>()
  for (const some of idLists([...new Set(chunks.map(({ documentId }) => documentId))])) {
    const rows = await db.selectFrom('document').select('document_id').where('document_id', 'in', some).execute()
    for (const row of rows) there.add(row.document_id)
  }
  return chunks.filter(({ documentId }) => there.has(documentId))
}

const enqueue = (db: Kysely<Tables>, profileId: string, chunkIds: readonly string[]): Promise<void> =>
  insertRows(
    db,
    'pending_vector',
    chunkIds.map((chunk_id) => ({ profile_id: profileId, chunk_id })),
  )

/**
 * Marks chunks that no longer belong to their version. They are kept, because an index may still find and show them.
 */
async function markReplaced(db: Kysely<Tables>, chunkIds: readonly string[]): Promise<void> {
  for (const some of idLists(chunkIds)) {
    await db.updateTable('chunk').set({ replaced: 1 }).where('chunk_id', 'in', some).execute()
    // By profile, because the primary keys begin with it.
    const profiles = await db.selectFrom('embedding_profile').select('profile_id').execute()
    for (const { profile_id } of profiles) {
      for (const table of ['chunk_vector', 'pending_vector', 'refused_vector'] as const) {
        await db.deleteFrom(table).where('profile_id', '=', profile_id).where('chunk_id', 'in', some).execute()
      }
    }
  }
}

async function markCurrent(db: Kysely<Tables>, chunkIds: readonly string[]): Promise<void> {
  for (const some of idLists(chunkIds)) {
    await db.updateTable('chunk').set({ replaced: null }).where('chunk_id', 'in', some).execute()
  }
}

const rowOf = (chunk: ChunkRecord) => ({
  chunk_id: chunk.chunkId,
  document_id: chunk.documentId,
  version_id: chunk.versionId,
  ordinal: chunk.ordinal,
  starts_at: chunk.startsAt,
  ends_at: chunk.endsAt,
  text_hash: chunk.textHash,
})

/** Copies the bytes, because those from a driver may not be aligned to four bytes. */
export function asFloats(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer)
}
