import { type Kysely, sql } from 'kysely'
import type { ChunkRecord, IndexSource } from '../../search/index-source.ts'
import { insertRows } from './insert-rows.ts'
import type { Tables } from './tables.ts'

/**
 * Which chunks have a vector, and which wait for one.
 *
 * The rule: every chunk with a text that is not replaced has, of the default profile, a vector, or waits for one, or was
 * refused by the model. It holds after every transaction, because the one that writes a chunk, or makes a profile the
 * default, also makes the chunks wait; nobody says which.
 */
type VectorQueue = Pick<
  IndexSource,
  | 'putChunks'
  | 'defaultProfile'
  | 'awaitVectors'
  | 'waitingChunks'
  | 'stillWaiting'
  | 'putVectors'
  | 'vectors'
  | 'doneWaiting'
  | 'refuseVectors'
  | 'vectorGaps'
>

/** Ids in one statement: far below what any database takes. */
const idsAtOnce = 200

export function sqlVectorQueue(db: Kysely<Tables>): VectorQueue {
  return {
    defaultProfile: () => defaultProfile(db),

    async putChunks(chunks) {
      const profileId = (await defaultProfile(db)) ?? ''
      const versionIds = [...new Set(chunks.map(({ versionId }) => versionId))]
      const found: ChunkState[] = []
      for (const some of portions(versionIds)) {
        found.push(...(await chunkStates(db, profileId).where('chunk.version_id', 'in', some).execute()))
      }
      const there = new Map(found.map((row) => [row.chunk_id, row]))
      await insertRows(db, 'chunk', chunks.filter(({ chunkId }) => !there.has(chunkId)).map(rowOf))
      const given = new Set(chunks.map(({ chunkId }) => chunkId))
      await replace(
        db,
        found.filter((row) => row.replaced === null && !given.has(row.chunk_id)).map((row) => row.chunk_id),
      )
      await bringBack(
        db,
        found.filter((row) => row.replaced !== null && given.has(row.chunk_id)).map((row) => row.chunk_id),
      )
      if (profileId === '') return
      const lacking = chunks
        .filter((chunk) => chunk.endsAt > chunk.startsAt)
        .filter(({ chunkId }) => there.get(chunkId)?.made == null && there.get(chunkId)?.waits == null)
        .map(({ chunkId }) => chunkId)
      // What the model once refused is tried again with the rest: it may be another model by that name.
      const refused = lacking.filter((chunkId) => there.get(chunkId)?.refused != null)
      for (const some of portions(refused)) {
        await db
          .deleteFrom('refused_vector')
          .where('profile_id', '=', profileId)
          .where('chunk_id', 'in', some)
          .execute()
      }
      await wait(db, profileId, lacking)
    },

    async awaitVectors(profileId, chunkIds) {
      let awaited = 0
      for (const some of portions(chunkIds)) {
        const lost = await lostChunks(db, profileId)
          .select('chunk.chunk_id')
          .where('chunk.chunk_id', 'in', some)
          .execute()
        await wait(
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

    async stillWaiting(profileId, chunkIds) {
      const waiting: string[] = []
      for (const some of portions(chunkIds)) {
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
      for (const { chunkId, vector } of vectors) {
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
      for (const some of portions(chunkIds)) {
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
      for (const some of portions(chunkIds)) {
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
      // Only of what waits: another process may have made the vector, or the chunk may be replaced by now.
      for (const some of portions(chunkIds)) {
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
      const profileId = await defaultProfile(db)
      if (profileId === null) return { lost: 0, refused: 0 }
      const lost = await lostChunks(db, profileId)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      const refused = await db
        .selectFrom('refused_vector')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('profile_id', '=', profileId)
        .executeTakeFirstOrThrow()
      return { lost: Number(lost.count), refused: Number(refused.count) }
    },
  }
}

/** Every chunk that should have a vector of the profile waits for it. For a profile that becomes the default. */
export async function awaitAllVectors(db: Kysely<Tables>, profileId: string): Promise<void> {
  await db
    .insertInto('pending_vector')
    .columns(['profile_id', 'chunk_id'])
    .expression((eb) =>
      lackingChunks(db, profileId).select([eb.val(profileId).as('profile_id'), 'chunk.chunk_id as chunk_id']),
    )
    .onConflict((conflict) => conflict.columns(['profile_id', 'chunk_id']).doNothing())
    .execute()
}

/** Chunks that should have a vector of the profile, and neither have one nor were refused. */
const lackingChunks = (db: Kysely<Tables>, profileId: string) =>
  db
    .selectFrom('chunk')
    .whereRef('chunk.ends_at', '>', 'chunk.starts_at')
    .where('chunk.replaced', 'is', null)
    .where(isNotIn('chunk_vector', profileId))
    .where(isNotIn('refused_vector', profileId))

/** Of those, the chunks that do not even wait for one: by the rule there are none. */
const lostChunks = (db: Kysely<Tables>, profileId: string) =>
  lackingChunks(db, profileId).where(isNotIn('pending_vector', profileId))

const isNotIn = (table: 'chunk_vector' | 'refused_vector' | 'pending_vector', profileId: string) =>
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

interface ChunkState {
  readonly chunk_id: string
  readonly replaced: number | null
  /** The chunk's id where it has a vector of the profile, waits for one, was refused; else null. */
  readonly made: string | null
  readonly waits: string | null
  readonly refused: string | null
}

const chunkStates = (db: Kysely<Tables>, profileId: string) =>
  db
    .selectFrom('chunk')
    .leftJoin('chunk_vector', (join) =>
      join.on('chunk_vector.profile_id', '=', profileId).onRef('chunk_vector.chunk_id', '=', 'chunk.chunk_id'),
    )
    .leftJoin('pending_vector', (join) =>
      join.on('pending_vector.profile_id', '=', profileId).onRef('pending_vector.chunk_id', '=', 'chunk.chunk_id'),
    )
    .leftJoin('refused_vector', (join) =>
      join.on('refused_vector.profile_id', '=', profileId).onRef('refused_vector.chunk_id', '=', 'chunk.chunk_id'),
    )
    .select([
      'chunk.chunk_id',
      'replaced',
      'chunk_vector.chunk_id as made',
      'pending_vector.chunk_id as waits',
      'refused_vector.chunk_id as refused',
    ])

const wait = (db: Kysely<Tables>, profileId: string, chunkIds: readonly string[]): Promise<void> =>
  insertRows(
    db,
    'pending_vector',
    chunkIds.map((chunk_id) => ({ profile_id: profileId, chunk_id })),
  )

/** Chunks that their version is no longer cut into. An index may still find them, so they are kept to be shown. */
async function replace(db: Kysely<Tables>, chunkIds: readonly string[]): Promise<void> {
  for (const some of portions(chunkIds)) {
    await db.updateTable('chunk').set({ replaced: 1 }).where('chunk_id', 'in', some).execute()
    // By profile, because the tables are stored in that order.
    const profiles = await db.selectFrom('embedding_profile').select('profile_id').execute()
    for (const { profile_id } of profiles) {
      for (const table of ['chunk_vector', 'pending_vector', 'refused_vector'] as const) {
        await db.deleteFrom(table).where('profile_id', '=', profile_id).where('chunk_id', 'in', some).execute()
      }
    }
  }
}

async function bringBack(db: Kysely<Tables>, chunkIds: readonly string[]): Promise<void> {
  for (const some of portions(chunkIds)) {
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
})

function* portions(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += idsAtOnce) yield ids.slice(from, from + idsAtOnce)
}

/** Copied, because the bytes a driver hands out need not be aligned to four. */
export function asFloats(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer)
}
