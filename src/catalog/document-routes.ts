import { type Static, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { Consumer } from '../access/principal.ts'
import { type FieldPermission, readableFields, type Scope, versionLanguage } from '../access/scope.ts'
import { cursorParameter } from '../http/query-parameters.ts'
import { consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Cursors } from '../platform/cursors.ts'
import { type ErrorCode, TidemarkError } from '../platform/errors.ts'
import { isId } from '../platform/ids.ts'
import { formatTime } from '../platform/time.ts'
import { dateTime, idOf, named, noFields, orNull, pageSize, readOnce, strict } from '../platform/validation.ts'
import { Document, Snapshot, snapshotAnswer } from './answers.ts'
import type { CatalogStore, DocumentRecord, VersionSummary } from './catalog-store.ts'
import { contentAnswer, documentAnswer, type ReadableDocument, readableDocument } from './document-answer.ts'
import { invalid } from './listing-times.ts'

const Detail = named(
  'DocumentDetail',
  Type.Object({
    ...Document.properties,
    version_count: Type.Integer({ description: 'The number of versions that the application may read.' }),
    snapshot: orNull(Snapshot),
  }),
)
const Version = named(
  'DocumentVersion',
  Type.Object({
    version_id: Type.String(),
    is_current: Type.Boolean(),
    created_at: dateTime,
    title: Type.Optional(orNull(Type.String())),
  }),
)
export const Content = named(
  'DocumentContent',
  Type.Object({
    document_id: Type.String(),
    version_id: Type.String(),
    is_current: Type.Boolean(),
    title: Type.Optional(orNull(Type.String())),
    body: orNull(Type.String()),
    language: orNull(Type.String()),
    published_at: orNull(dateTime),
    created_at: dateTime,
  }),
)
const BatchItem = named(
  'DocumentWithContent',
  Type.Object({
    ...Document.properties,
    content: orNull(
      named(
        'CurrentContent',
        Type.Object({
          version_id: Type.String(),
          title: Type.Optional(orNull(Type.String())),
          body: orNull(Type.String()),
        }),
      ),
    ),
  }),
)

const ById = Type.Object({ document_id: idOf('document') })
const PageQuery = Type.Object(
  {
    limit: pageSize(200, 50),
    cursor: cursorParameter('`next_cursor` of the previous page. Send the same `limit`.'),
  },
  strict,
)
const versionRule =
  'Language entitlements apply to the language of each version (or of the document, if the version has none), so an application may be able to read the current version but not an earlier one, or the other way round.'
const config = (operation: Operation, ...errors: ErrorCode[]) =>
  ({
    operation,
    invalid: 'invalid_document_query',
    unavailable: 'catalog_unavailable',
    errors: ['entitlement_denied', ...errors],
  }) as const
const about = (summary: string, description: string) => ({ tags: ['Documents'], summary, description })

export function documentRoutes(app: TypedApp, store: CatalogStore, cursors: Cursors): void {
  app.get(
    '/v1/documents/:document_id',
    {
      config: config('documents.read', 'document_not_found'),
      schema: {
        ...about('Get a document', 'The document, with its number of versions and its latest metric snapshot.'),
        params: ById,
        querystring: noFields,
        response: { 200: Detail },
      },
    },
    async (request) => {
      const scope = scopeOf(consumerOf(request), {})
      const found = await visible(request.params.document_id, scope, true)
      const snapshot = found.fields.has('metrics') ? (found.record.snapshot ?? null) : null
      const allReadable = scope.entries.every(({ languages }) => languages === null)
      return {
        ...documentAnswer(found),
        version_count: allReadable
          ? found.record.versionCount
          : await store.versionCount(found.record.documentId, scope),
        snapshot: snapshot === null ? null : snapshotAnswer(snapshot),
      }
    },
  )

  app.get(
    '/v1/documents/:document_id/content',
    {
      config: config('documents.content', 'document_not_found', 'version_not_found'),
      schema: {
        ...about('Get the full text of a document', `Title and body of a version. Needs \`body\`. ${versionRule}`),
        params: ById,
        querystring: Type.Object(
          {
            version_id: Type.Optional(
              Type.String({ minLength: 1, maxLength: 128, description: 'Default: the current version.' }),
            ),
          },
          strict,
        ),
        response: { 200: Content },
      },
    },
    async (request) => {
      const scope = scopeOf(consumerOf(request), { needs: [['body']] })
      const record = await recordOf(request.params.document_id)
      const version = await store.version(record.documentId, request.query.version_id ?? null, scope)
      if (version === null) {
        if (readableDocument(record, scope) === null) throw documentNotFound()
        throw new TidemarkError('version_not_found', 'this document has no such version')
      }
      return contentAnswer(version, record, fieldsOf(version, record, scope))
    },
  )

  app.get(
    '/v1/documents/:document_id/versions',
    {
      config: config('documents.versions', 'document_not_found'),
      schema: {
        ...about(
          'List the versions of a document',
          `Newest first. Read their texts with \`…/content?version_id=\`. ${versionRule}`,
        ),
        params: ById,
        querystring: PageQuery,
        response: {
          200: named(
            'DocumentVersionPage',
            Type.Object({ versions: Type.Array(Version), next_cursor: Type.Optional(Type.String()) }),
          ),
        },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const scope = scopeOf(consumer, {})
      const record = await recordOf(request.params.document_id)
      const page = await pageOf(consumer, 'versions', record.documentId, request.query, (range) =>
        store.versions(record.documentId, scope, range),
      )
      if (page.items.length === 0 && readableDocument(record, scope) === null) throw documentNotFound()
      return {
        versions: page.items.map((version) => ({
          version_id: version.versionId,
          is_current: version.versionId === record.currentVersionId,
          created_at: formatTime(version.createdAt),
          ...(fieldsOf(version, record, scope).has('title') ? { title: version.title } : {}),
        })),
        ...page.next((version) => version.versionId),
      }
    },
  )

  app.get(
    '/v1/documents/:document_id/snapshots',
    {
      config: config('documents.snapshots', 'document_not_found'),
      schema: {
        ...about('List the metric snapshots of a document', 'Newest first. Needs `metrics`.'),
        params: ById,
        querystring: PageQuery,
        response: {
          200: named(
            'MetricSnapshotPage',
            Type.Object({ snapshots: Type.Array(Snapshot), next_cursor: Type.Optional(Type.String()) }),
          ),
        },
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
          'Get several documents',
          'Returns up to 200 documents with their current text, in the order requested. IDs that do not exist or are not within the entitlements are in `missing`. `content` is null without the permission `body`.',
        ),
        body: named(
          'BatchGetRequest',
          Type.Object(
            {
              document_ids: Type.Array(idOf('document'), {
                minItems: 1,
                maxItems: 200,
                [readOnce]: true,
                description: 'The documents to read.',
              }),
            },
            strict,
          ),
        ),
        response: {
          200: named(
            'BatchGetResponse',
            Type.Object({ documents: Type.Array(BatchItem), missing: Type.Array(Type.String()) }),
          ),
        },
      },
    },
    async (request) => {
      const scope = scopeOf(consumerOf(request), {})
      const requested = request.body.document_ids
      const found = new Map<string, ReadableDocument>()
      const ids = requested.filter((id) => isId('doc', id))
      if (ids.length > 0) {
        for (const record of await store.documents(ids, { snapshot: false })) {
          const one = readableDocument(record, scope)
          if (one !== null) found.set(record.documentId, one)
        }
      }
      const withBody = [...found.values()].filter(({ fields }) => fields.has('body'))
      const bodies = await store.bodies(withBody.map(({ record }) => record.currentVersionId))
      const bodyOf = new Map(bodies.map(({ versionId, body }) => [versionId, body]))
      return {
        documents: requested.flatMap((id) => {
          const one = found.get(id)
          return one === undefined ? [] : [{ ...documentAnswer(one), content: contentOf(one, bodyOf) }]
        }),
        missing: requested.filter((id) => !found.has(id)),
      }
    },
  )

  async function recordOf(documentId: string, snapshot = false): Promise<DocumentRecord> {
    const [record] = isId('doc', documentId) ? await store.documents([documentId], { snapshot }) : []
    if (record === undefined) throw documentNotFound()
    return record
  }

  async function visible(documentId: string, scope: Scope, snapshot = false): Promise<ReadableDocument> {
    const found = readableDocument(await recordOf(documentId, snapshot), scope)
    if (found === null) throw documentNotFound()
    return found
  }

  /**
   * Keyset paging: one page by id, newest first. Reads one item more than the page holds, to know whether another page
   * follows.
   */
  async function pageOf<Item>(
    consumer: Consumer,
    resource: string,
    documentId: string,
    query: Static<typeof PageQuery>,
    read: (range: { before: string | null; limit: number }) => Promise<readonly Item[]>,
  ) {
    const limit = query.limit ?? 50
    const binding = [resource, consumer.applicationId, documentId, limit]
    let before: string | null = null
    if (query.cursor !== undefined) {
      const opened = await cursors.open<string>(query.cursor, binding)
      if (!opened.ok) {
        throw invalid('cursor', 'is not a cursor of this request: send next_cursor unchanged, with the same limit')
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

/** A missing document and one without entitlement get the same response, so that ids cannot be probed. */
function documentNotFound(): TidemarkError {
  return new TidemarkError('document_not_found', 'no such document within the entitlements of this application')
}

/** The permissions for a version that the scope opens. */
function fieldsOf({ language }: VersionSummary, record: DocumentRecord, scope: Scope): ReadonlySet<FieldPermission> {
  return readableFields(scope, { ...record, language: versionLanguage(language, record.language) }) ?? new Set()
}

function contentOf(
  { record, fields }: ReadableDocument,
  bodyOf: ReadonlyMap<string, string | null>,
): Static<typeof BatchItem>['content'] {
  const body = bodyOf.get(record.currentVersionId)
  if (body === undefined || !fields.has('body')) return null
  return { version_id: record.currentVersionId, ...(fields.has('title') ? { title: record.title } : {}), body }
}
