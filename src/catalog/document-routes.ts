import { type Static, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { Consumer } from '../access/principal.ts'
import type { Scope } from '../access/scope.ts'
import type { Cursors } from '../cursors.ts'
import { TidemarkError } from '../errors.ts'
import { consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed.ts'
import { isId } from '../ids.ts'
import { formatOptionalTime, formatTime } from '../time.ts'
import { Document, documentAnswer, type Readable, readable, Snapshot, snapshotAnswer } from './answers.ts'
import type { CatalogStore, DocumentRecord } from './catalog-store.ts'

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])
const time = Type.String({ format: 'date-time' })
const invalid = 'invalid_document_query'

const Detail = Type.Object({ ...Document.properties, version_count: Type.Integer(), snapshot: orNull(Snapshot) })
const Version = Type.Object({
  version_id: Type.String(),
  is_current: Type.Boolean(),
  created_at: time,
  title: Type.Optional(orNull(Type.String())),
})
const Content = Type.Object({
  document_id: Type.String(),
  version_id: Type.String(),
  is_current: Type.Boolean(),
  title: Type.Optional(orNull(Type.String())),
  body: orNull(Type.String()),
  language: orNull(Type.String()),
  published_at: orNull(time),
  created_at: time,
})
const BatchItem = Type.Object({
  ...Document.properties,
  content: orNull(
    Type.Object({
      version_id: Type.String(),
      title: Type.Optional(orNull(Type.String())),
      body: orNull(Type.String()),
    }),
  ),
})

const ById = Type.Object({ document_id: Type.String({ minLength: 1, maxLength: 128 }) })
const nothing = Type.Object({}, { additionalProperties: false })
const PageQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    cursor: Type.Optional(Type.String({ description: '`next_cursor` of the previous page, with the same `limit`.' })),
  },
  { additionalProperties: false },
)
const config = (operation: Operation) =>
  ({ surface: 'consumer', operation, invalid, unavailable: 'catalog_unavailable' }) as const
const about = (summary: string, description: string) => ({ tags: ['Documents'], summary, description })

export function documentRoutes(app: TypedApp, store: CatalogStore, cursors: Cursors): void {
  app.get(
    '/v1/documents/:document_id',
    {
      config: config('documents.read'),
      schema: {
        ...about('One document', 'With the number of its versions and its latest metric snapshot.'),
        params: ById,
        querystring: nothing,
        response: { 200: Detail },
      },
    },
    async (request) => {
      const found = await visible(request.params.document_id, scopeOf(consumerOf(request), {}), true)
      const snapshot = found.fields.has('metrics') ? (found.record.snapshot ?? null) : null
      return {
        ...documentAnswer(found),
        version_count: found.record.versionCount,
        snapshot: snapshot === null ? null : snapshotAnswer(snapshot),
      }
    },
  )

  app.get(
    '/v1/documents/:document_id/content',
    {
      config: config('documents.content'),
      schema: {
        ...about('The text of a version', 'The current version when `version_id` is absent. Needs `body`.'),
        params: ById,
        querystring: Type.Object({ version_id: Type.Optional(Type.String()) }, { additionalProperties: false }),
        response: { 200: Content },
      },
    },
    async (request) => {
      const { record, fields } = await visible(
        request.params.document_id,
        scopeOf(consumerOf(request), { needs: [['body']] }),
      )
      const version = await store.version(record.documentId, request.query.version_id ?? null)
      if (version === null) throw new TidemarkError('version_not_found', 'this document has no such version')
      return {
        document_id: record.documentId,
        version_id: version.versionId,
        is_current: version.versionId === record.currentVersionId,
        ...(fields.has('title') ? { title: version.title } : {}),
        body: version.body,
        language: version.language,
        published_at: formatOptionalTime(version.publishedAt),
        created_at: formatTime(version.createdAt),
      }
    },
  )

  app.get(
    '/v1/documents/:document_id/versions',
    {
      config: config('documents.versions'),
      schema: {
        ...about('The versions of a document, newest first', 'Their texts are read by `…/content?version_id=`.'),
        params: ById,
        querystring: PageQuery,
        response: { 200: Type.Object({ versions: Type.Array(Version), next_cursor: Type.Optional(Type.String()) }) },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { record, fields } = await visible(request.params.document_id, scopeOf(consumer, {}))
      const page = await pageOf(consumer, 'versions', record.documentId, request.query, (range) =>
        store.versions(record.documentId, range),
      )
      return {
        versions: page.items.map((version) => ({
          version_id: version.versionId,
          is_current: version.versionId === record.currentVersionId,
          created_at: formatTime(version.createdAt),
          ...(fields.has('title') ? { title: version.title } : {}),
        })),
        ...page.next((version) => version.versionId),
      }
    },
  )

  app.get(
    '/v1/documents/:document_id/snapshots',
    {
      config: config('documents.snapshots'),
      schema: {
        ...about('The metric snapshots of a document, newest first', 'Needs `metrics`.'),
        params: ById,
        querystring: PageQuery,
        response: { 200: Type.Object({ snapshots: Type.Array(Snapshot), next_cursor: Type.Optional(Type.String()) }) },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const scope = scopeOf(consumer, { needs: [['metrics']] })
      const { record } = await visible(request.params.document_id, scope)
      const page = await pageOf(consumer, 'snapshots', record.documentId, request.query, (range) =>
        store.snapshots(record.documentId, range),
      )
      return { snapshots: page.items.map(snapshotAnswer), ...page.next((snapshot) => snapshot.snapshotId) }
    },
  )

  app.post(
    '/v1/documents/batch-get',
    {
      config: config('documents.batchGet'),
      schema: {
        ...about(
          'Several documents with their current text',
          'In the order asked for. What does not exist or is not entitled is in `missing`. `content` is null without `body`.',
        ),
        body: Type.Object(
          {
            document_ids: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { minItems: 1, maxItems: 200 }),
          },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ documents: Type.Array(BatchItem), missing: Type.Array(Type.String()) }) },
      },
    },
    async (request) => {
      const scope = scopeOf(consumerOf(request), {})
      const asked = [...new Set(request.body.document_ids)]
      const records = new Map<string, DocumentRecord>()
      const ids = asked.filter((id) => isId('doc', id))
      if (ids.length > 0) {
        for (const record of await store.documents(ids, { content: true, snapshot: false })) {
          records.set(record.documentId, record)
        }
      }
      const documents: Static<typeof BatchItem>[] = []
      const missing: string[] = []
      for (const id of asked) {
        const record = records.get(id)
        const found = record === undefined ? null : readable(record, scope)
        if (found === null) missing.push(id)
        else documents.push({ ...documentAnswer(found), content: contentOf(found) })
      }
      return { documents, missing }
    },
  )

  /** Not there and not entitled are the same answer, so that ids cannot be probed. */
  async function visible(documentId: string, scope: Scope, snapshot = false): Promise<Readable> {
    const [record] = isId('doc', documentId) ? await store.documents([documentId], { content: false, snapshot }) : []
    const found = record === undefined ? null : readable(record, scope)
    if (found === null) {
      throw new TidemarkError(
        'document_not_found',
        'there is no such document within the entitlements of this application',
      )
    }
    return found
  }

  /** One page by id, newest first; reads one more than asked to know whether another page follows. */
  async function pageOf<Item>(
    consumer: Consumer,
    what: string,
    documentId: string,
    query: Static<typeof PageQuery>,
    read: (range: { before: string | null; limit: number }) => Promise<readonly Item[]>,
  ) {
    const limit = query.limit ?? 50
    const binding = [what, consumer.applicationId, documentId, limit]
    let before: string | null = null
    if (query.cursor !== undefined) {
      const opened = await cursors.open<string>(query.cursor, binding)
      if (!opened.ok) {
        const message = 'is not a cursor of this request: send next_cursor unchanged, with the same limit'
        throw new TidemarkError(invalid, `cursor ${message}`, { details: [{ path: 'cursor', message }] })
      }
      before = opened.position
    }
    const found = await read({ before, limit: limit + 1 })
    const items = found.slice(0, limit)
    return {
      items,
      next: (idOf: (item: Item) => string) =>
        found.length > limit ? { next_cursor: cursors.sign(binding, idOf(items.at(-1)!)) } : {},
    }
  }
}

function contentOf({ record, fields }: Readable): Static<typeof BatchItem>['content'] {
  const { content } = record
  if (content === undefined || !fields.has('body')) return null
  return { version_id: content.versionId, ...(fields.has('title') ? { title: content.title } : {}), body: content.body }
}
