import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Scope, versionLanguage } from '../../access/scope.ts'
import type { IndexedFields } from '../../document/field-types.ts'
import { catalogRows } from '../../document/rows.ts'
import type { ErasedDocument, IndexSource, SourceVersion } from '../../indexing/index-source.ts'
import { preparePortion } from '../../indexing/prepare-portion.ts'
import { dayMs } from '../../platform/time.ts'
import type { CatalogColumns } from '../../search/search-index.ts'
import type { ChunkText, SearchSource } from '../../search/search-source.ts'
import { clocksApartMs } from './arrival-events.ts'
import { isVersionOpen } from './browse-conditions.ts'
import {
  columnNames,
  columnsOf,
  type DetailColumn,
  detailColumns,
  detailsOf,
  type IndexedColumn,
  readColumn,
} from './document-rows.ts'
import { idLists, readingByIds } from './id-lists.ts'
import { backlogOf } from './index-backlog.ts'
import { lastRevision } from './index-revisions.ts'
import type { ChunkRow, DocumentRow, DocumentVersionRow, Tables } from './tables.ts'
import { asFloats, sqlVectorQueue } from './vector-queue.ts'

/** Rows of index copies that have not reported for this long are deleted. */
const indexForgottenMs = dayMs

export function sqlIndexSource(db: Kysely<Tables>): IndexSource & SearchSource {
  const documents = <Column extends keyof DocumentRow>(columns: readonly Column[]) =>
    readingByIds((ids) => db.selectFrom('document').select(columns).where('document_id', 'in', ids))
  const resultRows = documents(['document_id', 'title', 'quality', 'current_version_id', ...columnNames])
  const indexedRows = documents(['document_id', 'current_version_id', ...columnNames, ...catalogNames])
  const headRows = readingByIds((ids) =>
    db
      .selectFrom('document_version')
      .innerJoin('document', 'document.document_id', 'document_version.document_id')
      .select([
        'version_id',
        'document_version.title',
        'document_version.language',
        'document.language as document_language',
      ])
      .where('version_id', 'in', ids),
  )
  const textRows = readingByIds((ids) => chunkRows(db, ids).select('body'))
  const shownRows = (body: RawBuilder<string | null>) => {
    const reading = (withDetails: boolean) =>
      readingByIds((ids) => shownChunkRows(db, ids, body).$if(withDetails, (query) => query.select(detailColumns)))
    return { bare: reading(false), detailed: reading(true) }
  }
  const shown = { all: shownRows(sql.ref('document_version.body')), none: shownRows(sql<null>`null`) }

  const source: IndexSource & SearchSource = {
    ...sqlVectorQueue(db),

    async instance() {
      const row = await db.selectFrom('audit').select('audit_id').orderBy('audit_id').limit(1).executeTakeFirst()
      return row?.audit_id ?? null
    },

    async documentsAfter(revision, limits) {
      const erased = await erasedAfter(db, revision, limits.documents)
      const rows = await db
        .selectFrom('document')
        .select(['document_id', 'index_revision', 'current_version_id', ...columnNames, ...catalogNames])
        .where('index_revision', '>', revision)
        .orderBy('index_revision')
        .limit(limits.documents)
        .execute()
      const sizes = await versionSizes(db, idsOf(rows), limits.versionsAfter ?? revision)
      const taken: ((typeof rows)[number] | ErasedDocument)[] = []
      let bytes = 0
      for (const row of rows) {
        while (erased[0] !== undefined && erased[0].revision < row.index_revision) taken.push(erased.shift()!)
        if (taken.length >= limits.documents || bytes >= limits.characters) break
        taken.push(row)
        for (const { size } of sizes.get(row.document_id) ?? []) bytes += size
      }
      // The remaining erased documents follow only after all changed documents are included.
      if (rows.length < limits.documents && bytes < limits.characters) taken.push(...erased)
      const portion = taken.slice(0, limits.documents)
      const versions = await readVersions(
        db,
        portion.flatMap((one) => ('isErased' in one ? [] : (sizes.get(one.document_id) ?? []))),
      )
      return portion.map((one) => {
        if ('isErased' in one) return one
        return {
          documentId: one.document_id,
          revision: one.index_revision,
          columns: { ...columnsOf(one), ...catalogOf(one) },
          versions: (versions.get(one.document_id) ?? []).map((version) => ({
            ...version,
            current: version.versionId === one.current_version_id,
          })),
        }
      })
    },

    preparedAfter: (...request) => preparePortion(source, ...request),

    newestRevision: () => lastRevision(db),

    async newestErasure() {
      const row = await db
        .selectFrom('erased_document')
        .select('index_revision')
        .orderBy('index_revision', 'desc')
        .limit(1)
        .executeTakeFirst()
      return row?.index_revision ?? 0
    },

    async reportPurged(copyId, revision, nowMs) {
      const values = { purged_through: revision, seen_at: nowMs }
      await db
        .insertInto('index_copy')
        .values({ copy_id: copyId, ...values })
        .onConflict((conflict) => conflict.column('copy_id').doUpdateSet(values))
        .execute()
      await db
        .deleteFrom('index_copy')
        .where('seen_at', '<', nowMs - indexForgottenMs)
        .execute()
      // After a restore, or with a wrong clock, a time can be in the future. It is reset to now, so that nobody waits
      // until then for a copy that never reports again.
      await db
        .updateTable('index_copy')
        .set({ seen_at: nowMs })
        .where('seen_at', '>', nowMs + clocksApartMs)
        .execute()
    },

    async reportRemoved(copyId) {
      await db.deleteFrom('index_copy').where('copy_id', '=', copyId).execute()
    },

    backlog: (indexedRevision, countedMax) => backlogOf(db, indexedRevision, countedMax),

    async chunkCount() {
      const row = await db
        .selectFrom('chunk')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('replaced', 'is', null)
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },

    async results(documentIds) {
      return (await resultRows(documentIds)).map((row) => ({
        ...columnsOf(row),
        documentId: row.document_id,
        title: row.title,
        quality: row.quality,
        currentVersionId: row.current_version_id,
      }))
    },

    async indexedColumns(documentIds) {
      return (await indexedRows(documentIds)).map((row) => ({
        ...columnsOf(row),
        ...catalogOf(row),
        documentId: row.document_id,
        currentVersionId: row.current_version_id,
      }))
    },

    async versionHeads(versionIds) {
      return (await headRows(versionIds)).map((row) => ({
        versionId: row.version_id,
        title: row.title,
        language: versionLanguage(row.language, row.document_language),
      }))
    },

    async chunkTexts(chunkIds) {
      return (await textRows(chunkIds)).map(asChunkText)
    },

    async shownChunks(chunkIds, withDetails, scope) {
      const opened = openBodies(scope)
      const { bare, detailed } = typeof opened === 'string' ? shown[opened] : shownRows(opened)
      const rows = await (withDetails ? detailed : bare)(chunkIds)
      return rows.map((row) => ({
        ...asChunkText(row),
        document: columnsOf({
          ...row,
          language: versionLanguage(row.language, row.document_language),
          published_at: row.document_published_at,
        }),
        details: hasDetails(row) ? { ...detailsOf(row), language: row.document_language } : null,
      }))
    },
  }
  return source
}

async function erasedAfter(db: Kysely<Tables>, revision: number, most: number): Promise<ErasedDocument[]> {
  const rows = await db
    .selectFrom('erased_document')
    .select(['document_id', 'index_revision'])
    .where('index_revision', '>', revision)
    .orderBy('index_revision')
    .limit(most)
    .execute()
  return rows.map((row) => ({ documentId: row.document_id, revision: row.index_revision, isErased: true }))
}

type DetailRow = Pick<DocumentRow, DetailColumn>

const hasDetails = <Row extends Partial<DetailRow>>(row: Row): row is Row & DetailRow => row.external_id !== undefined

/** Columns that the joined version has too, so that they need an alias. */
const columnsOfVersions = ['language', 'published_at'] as const
const ownColumnNames = columnNames.filter(
  (name): name is Exclude<IndexedColumn, (typeof columnsOfVersions)[number]> =>
    !(columnsOfVersions as readonly string[]).includes(name),
)

const catalogNames = catalogRows.map(({ column }) => column) as readonly IndexedFields<'catalog'>[]

function catalogOf(row: Pick<DocumentRow, IndexedFields<'catalog'>>): CatalogColumns {
  const columns: Record<string, unknown> = {}
  for (const field of catalogRows) columns[field.property] = readColumn(row, field)
  return columns as unknown as CatalogColumns
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

const shownChunkRows = (db: Kysely<Tables>, chunkIds: readonly string[], body: RawBuilder<string | null>) =>
  chunkRows(db, chunkIds)
    .innerJoin('document', 'document.document_id', 'chunk.document_id')
    .select([
      body.as('body'),
      ...ownColumnNames.map((name) => `document.${name}` as const),
      'document.language as document_language',
      'document.published_at as document_published_at',
    ])

/**
 * The bodies that the scope opens: usually all or none, otherwise an expression that is the body of a row if the scope
 * opens it.
 */
function openBodies(scope: Scope): 'all' | 'none' | RawBuilder<string | null> {
  const entries = scope.entries.filter(({ fields }) => fields.includes('body'))
  if (entries.length === 0) return 'none'
  if (entries.length === scope.entries.length) return 'all'
  return sql`case when ${isVersionOpen({ entries }, 'document_version', 'document')} then document_version.body end`
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

const idsOf = (rows: readonly { readonly document_id: string }[]): string[] => rows.map((row) => row.document_id)

/**
 * The versions of each document that are newer than a revision, in order, with the sizes of their texts in bytes. Sizes
 * are read before the texts, to limit the bytes of a step.
 */
async function versionSizes(db: Kysely<Tables>, documentIds: readonly string[], after: number) {
  const found = []
  for (const some of idLists(documentIds)) {
    const rows = await db
      .selectFrom('document_version')
      .select(['document_id', 'version_id', sql<number>`coalesce(octet_length(body), 0)`.as('size')])
      .where('document_id', 'in', some)
      .where('index_revision', '>', after)
      .orderBy('version_id')
      .execute()
    found.push(...rows)
  }
  return Map.groupBy(found, (row) => row.document_id)
}

/** The versions with their vectors, by document, in order. */
async function readVersions(
  db: Kysely<Tables>,
  versionsToRead: readonly { readonly version_id: string }[],
): Promise<ReadonlyMap<string, readonly Omit<SourceVersion, 'current'>[]>> {
  const versions = []
  const vectors = []
  for (const some of idLists(versionsToRead.map(({ version_id }) => version_id))) {
    const rows = db
      .selectFrom('document_version')
      .select(['document_id', 'version_id', 'language', 'title', 'body'])
      .where('version_id', 'in', some)
      .orderBy('version_id')
    versions.push(...(await rows.execute()))
    const theirs = db
      .selectFrom('chunk')
      // With a cross join, SQLite keeps this join order. Otherwise it would scan all vectors for every step.
      .crossJoin('chunk_vector')
      .select(['version_id', 'profile_id', 'chunk.chunk_id', 'vector'])
      .whereRef('chunk_vector.chunk_id', '=', 'chunk.chunk_id')
      .where('chunk.version_id', 'in', some)
      .where('profile_id', 'in', (eb) => eb.selectFrom('embedding_profile').select('profile_id'))
    vectors.push(...(await theirs.execute()))
  }
  const vectorsOf = Map.groupBy(vectors, (row) => row.version_id)
  const byDocument = new Map<string, Omit<SourceVersion, 'current'>[]>()
  for (const { document_id, version_id, language, title, body } of versions) {
    const version = {
      versionId: version_id,
      language,
      title,
      body,
      vectors: (vectorsOf.get(version_id) ?? []).map((row) => ({
        profileId: row.profile_id,
        chunkId: row.chunk_id,
        vector: asFloats(row.vector),
      })),
    }
    const others = byDocument.get(document_id)
    if (others === undefined) byDocument.set(document_id, [version])
    else others.push(version)
  }
  return byDocument
}
