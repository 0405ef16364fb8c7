import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { Scope } from '../access/scope.ts'
import { documentStatuses } from '../document/fields.ts'
import {
  conditionsIn,
  filterFaults,
  filterSchemas,
  listFilterNames,
  needsOf,
  type ParameterValues,
  parametersByNeed,
} from '../document/filters.ts'
import { cursorParameter, listParameter, splitLists, timeParameter } from '../http/query-parameters.ts'
import { consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Cursors } from '../platform/cursors.ts'
import { type ErrorCode, TidemarkError } from '../platform/errors.ts'
import { formatOptionalTime, formatTime, parseOptionalBound } from '../platform/time.ts'
import { choice, dateTime, named, orNull, pageSize, strict } from '../platform/validation.ts'
import { Author, Document, Snapshot, snapshotAnswer } from './answers.ts'
import type { CatalogStore, DocumentRecord } from './catalog-store.ts'
import { authorAnswer, documentAnswer, readableDocument } from './document-answer.ts'
import { checkInterval, type IngestWindow, ingestWindow, invalid } from './listing-times.ts'
import { timeLimited } from './time-limited.ts'

const windows = {
  created_from: timeParameter(
    'Only documents first ingested at this time or later. Default: 24 hours before the end of the window. The window is at most 31 days.',
  ),
  created_to: timeParameter('Only documents first ingested before this time. Default: now.'),
  published_from: timeParameter('Only documents published at this time or later.'),
  published_to: timeParameter('Only documents published before this time.'),
}
const datasetId = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Only this dataset. Default: all that the application may read.',
  }),
)

/** The parameters that both listings take. */
const listing = {
  dataset_id: datasetId,
  content_types: listParameter('Only these content types.'),
  ...windows,
  limit: pageSize(200, 50),
  cursor: cursorParameter('`next_cursor` of the previous page. Send the same other parameters.'),
  include_snapshot: Type.Optional(
    Type.Boolean({ default: false, description: 'Attach the latest metric snapshot to each document.' }),
  ),
  query: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        'Look up a document by its ID or URL, or by its ID on the platform if a platform is given. Not a text search. Without times, the lookup is not limited to a window.',
    }),
  ),
  status: Type.Optional(
    choice(documentStatuses, { description: 'Only documents with this status, as last reported by the collector.' }),
  ),
}
const filtersWith = (platformsName: string | null) =>
  filterSchemas('Only ', platformsName, (description) => listParameter(description))
const BrowseQuery = Type.Object(
  {
    ...listing,
    source_platforms: listParameter('Only these platforms.'),
    ...filtersWith('source_platforms'),
  },
  strict,
)
const UserDocumentsQuery = Type.Object({ ...listing, ...filtersWith(null) }, strict)
type ListingParameters = Static<typeof BrowseQuery> & ParameterValues

const Listing = named(
  'CatalogPage',
  Type.Object({
    documents: Type.Array(
      named('CatalogEntry', Type.Object({ document: Document, snapshot: Type.Optional(orNull(Snapshot)) })),
    ),
    next_cursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
    created_from: orNull(dateTime),
    created_to: orNull(dateTime),
  }),
)
const User = named(
  'UserProfileResponse',
  Type.Object({
    user: named(
      'UserProfile',
      Type.Object({
        source_platform: Type.String(),
        external_author_id: Type.String(),
        author: orNull(Author),
        document_id: Type.String({ description: 'The document the profile came from.' }),
        observed_at: Type.String({
          format: 'date-time',
          description:
            'When a collector last sent that document, changed or not; its own time of observation if it names one.',
        }),
      }),
    ),
  }),
)
const UserPath = Type.Object({
  platform: Type.String({ minLength: 1, maxLength: 128, description: 'The platform code.' }),
  // No maximum: an ID that is longer than any stored one is an unknown user (404).
  external_author_id: Type.String({ minLength: 1, description: 'The ID of the user on the platform.' }),
})

const config = (operation: Operation, ...errors: ErrorCode[]) =>
  ({
    operation,
    invalid: 'invalid_document_query',
    unavailable: 'catalog_unavailable',
    errors: ['entitlement_denied', ...errors],
  }) as const
const about = (summary: string, description: string) => ({ tags: ['Catalog'], summary, description })

export interface CatalogParts {
  readonly store: CatalogStore
  readonly cursors: Cursors
  /** The response is 503 if the store takes longer than this. */
  readonly timeoutMs: number
}

export function catalogRoutes(app: TypedApp, parts: CatalogParts): void {
  const { store, timeoutMs } = parts
  app.get(
    '/v1/documents/browse',
    {
      config: config('documents.browse'),
      schema: {
        ...about(
          'Browse documents',
          'Lists documents by exact conditions, most recently ingested first. Values within a parameter are combined with OR, parameters with AND. This is not a text search, and there is no total: page until `next_cursor` is absent.',
        ),
        querystring: BrowseQuery,
        response: { 200: Listing },
      },
    },
    async (request) => {
      const lists = listsOf(request.query)
      return list(request, request.query, { ...request.query, ...lists }, lists.source_platforms ?? null, parts)
    },
  )

  app.get(
    '/v1/users/:platform/:external_author_id/documents',
    {
      config: config('users.documents'),
      schema: {
        ...about(
          'List the documents of a user',
          'Like `GET /v1/documents/browse`, with platform and author from the path.',
        ),
        params: UserPath,
        querystring: UserDocumentsQuery,
        response: { 200: Listing },
      },
    },
    async (request) => {
      const { platform, external_author_id: author } = request.params
      const values = { ...request.query, ...listsOf(request.query), external_author_id: author }
      return list(request, request.query, values, [platform], parts)
    },
  )

  app.get(
    '/v1/users/:platform/:external_author_id',
    {
      config: config('users.read', 'user_not_found'),
      schema: {
        ...about(
          'Get a user profile',
          'The profile from the newest document of that author in the window. Needs the permission `author` or `metadata`.',
        ),
        params: UserPath,
        querystring: Type.Object({ dataset_id: datasetId, ...windows }, strict),
        response: { 200: User },
      },
    },
    async (request) => {
      const { platform, external_author_id: author } = request.params
      const values = { ...request.query, external_author_id: author }
      const conditions = conditionsOf(request.query, values, [platform])
      const window = ingestWindow(conditions.times.createdFrom, conditions.times.createdTo, false, Date.now())
      const scope = scopeFor(request, values, [platform], conditions)
      const [record] = await timeLimited(timeoutMs, (answerBy) =>
        store.browse({
          ...conditions.filters,
          ...bounds(window),
          scope,
          exact: null,
          before: null,
          limit: 1,
          snapshot: false,
          answerBy,
        }),
      )
      if (record === undefined) {
        const [from, to] = [window.from!, window.to!].map(formatTime)
        throw new TidemarkError(
          'user_not_found',
          `no readable document of this user was ingested from ${from} to ${to}: set created_from and created_to to another window of at most 31 days`,
        )
      }
      return {
        user: {
          source_platform: platform,
          external_author_id: author,
          author: authorAnswer(record.author),
          document_id: record.documentId,
          observed_at: formatTime(record.seenAt),
        },
      }
    },
  )
}

const listsOf = (query: ParameterValues): Readonly<Record<string, readonly string[] | null>> =>
  splitLists(query as Readonly<Record<string, string | undefined>>, listNames, 'invalid_document_query')
const listNames: readonly string[] = ['source_platforms', 'content_types', ...listFilterNames]

async function list(
  request: FastifyRequest,
  parameters: ListingParameters,
  values: ParameterValues,
  platforms: readonly string[] | null,
  { store, cursors, timeoutMs }: CatalogParts,
): Promise<Static<typeof Listing>> {
  const consumer = consumerOf(request)
  const { limit = 50, include_snapshot: snapshot = false, query: exactText } = parameters
  const conditions = conditionsOf(parameters, values, platforms)
  const binding = [
    'browse',
    consumer.applicationId,
    limit,
    snapshot,
    platforms,
    exactText ?? null,
    parameters.dataset_id ?? null,
    conditions,
  ]
  const exact = exactText === undefined ? null : { text: exactText, platforms }
  let window: IngestWindow
  let before: string | null = null
  if (parameters.cursor === undefined) {
    window = ingestWindow(conditions.times.createdFrom, conditions.times.createdTo, exact !== null, Date.now())
  } else {
    // The first page fixed the window, including "now". If each page computed it again, it could grow beyond 31 days.
    const opened = await cursors.open<{ before: string } & IngestWindow>(parameters.cursor, binding)
    if (!opened.ok) {
      throw invalid('cursor', 'does not belong to this request: repeat it with unchanged parameters and limit')
    }
    before = opened.position.before
    window = { from: opened.position.from, to: opened.position.to }
  }
  const scope = scopeFor(request, values, platforms, conditions)
  const found = await timeLimited(timeoutMs, (answerBy) =>
    store.browse({
      ...conditions.filters,
      ...bounds(window),
      scope,
      exact,
      before,
      limit: limit + 1,
      snapshot,
      answerBy,
    }),
  )
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    documents: page.map((record) => itemAnswer(record, scope, snapshot)),
    ...(found.length > limit ? { next_cursor: cursors.sign(binding, { before: last!.documentId, ...window }) } : {}),
    created_from: formatOptionalTime(window.from),
    created_to: formatOptionalTime(window.to),
  }
}

const bounds = (window: IngestWindow) => ({ createdFrom: window.from, createdTo: window.to })
/** The conditions of a request as the store takes them. A cursor is bound to them. */
function conditionsOf(parameters: ListingParameters, values: ParameterValues, platforms: readonly string[] | null) {
  const [fault] = filterFaults(values, platforms, 'source_platforms')
  if (fault !== undefined) throw invalid(fault.path, fault.message)
  checkInterval(parameters, 'published')
  checkInterval(parameters, 'created')
  return {
    filters: {
      conditions: conditionsIn(values),
      contentTypes: (values.content_types ?? null) as readonly string[] | null,
      publishedFrom: parseOptionalBound(parameters.published_from),
      publishedTo: parseOptionalBound(parameters.published_to),
      status: parameters.status ?? null,
    },
    times: {
      createdFrom: parseOptionalBound(parameters.created_from),
      createdTo: parseOptionalBound(parameters.created_to),
    },
  }
}

function scopeFor(
  request: FastifyRequest,
  values: ParameterValues,
  platforms: readonly string[] | null,
  { filters }: ReturnType<typeof conditionsOf>,
): Scope {
  const datasets = values.dataset_id === undefined ? null : [values.dataset_id as string]
  const requested = { datasets, platforms, needs: needsOf(filters.conditions) }
  const names = { datasets: 'dataset_id', platforms: 'source_platforms', ...parametersByNeed(values) }
  return scopeOf(consumerOf(request), requested, names)
}

function itemAnswer(
  record: DocumentRecord,
  scope: Scope,
  withSnapshot: boolean,
): Static<typeof Listing>['documents'][number] {
  // The store has applied the same scope, so an unreadable document here is a defect.
  const found = readableDocument(record, scope)!
  const snapshot = found.fields.has('metrics') ? record.snapshot : null
  return {
    document: documentAnswer(found),
    ...(withSnapshot ? { snapshot: snapshot == null ? null : snapshotAnswer(snapshot) } : {}),
  }
}
