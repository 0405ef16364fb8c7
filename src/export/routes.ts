import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Scope } from '../access/scope.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { Document } from '../catalog/answers.ts'
import { Content } from '../catalog/document-routes.ts'
import {
  type ChangeLog,
  eventTypes,
  type PackedFeedPosition,
  packPosition,
  unpackPosition,
} from '../changes/change-log.ts'
import { feedBinding } from '../changes/feed-binding.ts'
import { expired, expiryNow, rolledBackError } from '../changes/read-changes.ts'
import { FairSlots } from '../fair-queue/fair-slots.ts'
import { cursorParameter, listParameter, splitLists } from '../http/query-parameters.ts'
import { acceptedWeights } from '../http/request-head.ts'
import { abortSignalOf, consumerOf, scopeOf } from '../http/route.ts'
import { takeQuota } from '../http/take-quota.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Cursors } from '../platform/cursors.ts'
import { invalidField, TidemarkError } from '../platform/errors.ts'
import { choice, named, orNull, strict } from '../platform/validation.ts'
import { exportLine } from './export-line.ts'
import { type ExportSource, exportedVersions } from './export-source.ts'
import { checkpointDocuments, type ExportProgress, type ExportStep, readExport } from './read-export.ts'

const ndjson = 'application/x-ndjson'
const parquet = 'application/vnd.apache.parquet'
const invalid = 'invalid_document_query'

/** The limits of a Parquet file, which is made in memory. `lineBytes` limits the lines from which it is made. */
const pageLimits = { documentsDefault: 1000, documentsMax: 10_000, lineBytes: 16 * 1024 * 1024 }

const nextCursorHeader = 'Tidemark-Next-Cursor'
const changesCursorHeader = 'Tidemark-Changes-Cursor'

/** Returns whether the client names Parquet and does not prefer lines. A client that accepts anything gets lines. */
function acceptsParquet(accept = ''): boolean {
  const weights = acceptedWeights(accept)
  const lines = weights.get(ndjson) ?? 0
  const file = weights.get(parquet) ?? 0
  return file > 0 && file >= lines
}

const Query = Type.Object(
  {
    dataset_id: listParameter('Dataset IDs.'),
    source_platform: listParameter('Platform codes.'),
    versions: Type.Optional(
      choice(exportedVersions, {
        default: 'current',
        description: '`all` adds earlier versions, each on a line of its own after its document.',
      }),
    ),
    cursor: cursorParameter(
      'The `cursor` of a `checkpoint` line: continues after it. Send the same filters; `limit` may differ.',
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: `Documents in this response, which then ends with a checkpoint. Default: all of them; for Parquet ${pageLimits.documentsDefault}, at most ${pageLimits.documentsMax}.`,
      }),
    ),
  },
  strict,
)

const changesCursor = Type.String({
  description:
    'Cursor for `GET /v1/changes` with the same `dataset_id` and `source_platform` and all five event types in `event_type`: everything that has changed since this export first started.',
})
const line = (name: string, type: string, fields: Readonly<Record<string, TSchema>>, description: string) =>
  named(name, Type.Object({ type: choice([type]), ...fields }, { description }))

const Line = named(
  'ExportLine',
  Type.Union([
    line('ExportStart', 'start', { changes_cursor: changesCursor }, 'The first line.'),
    line(
      'ExportDocument',
      'document',
      { document: Document, content: orNull(Content) },
      'A document with its current text; `content` is null without `body`.',
    ),
    line(
      'ExportVersion',
      'version',
      { content: Content },
      'An earlier version, with `versions=all` and `body`. Language entitlements can open a version whose document they hide.',
    ),
    line(
      'ExportCheckpoint',
      'checkpoint',
      { cursor: Type.String() },
      `After every ${checkpointDocuments} documents, and at the end of a response that does not complete the export.`,
    ),
    line(
      'ExportEnd',
      'end',
      {
        documents: Type.Integer({ description: 'Number of document lines since the first start.' }),
        changes_cursor: changesCursor,
      },
      'The last line of a complete export.',
    ),
    line(
      'ExportError',
      'error',
      { code: Type.String(), message: Type.String(), request_id: Type.String() },
      'Instead of the end: why the export was interrupted. Continue from the last checkpoint; on `cursor_expired` start over and replace what you have.',
    ),
  ]),
)

/** A string for generated clients; `contentSchema` describes one line. */
const Lines = Type.String({ contentMediaType: ndjson, contentSchema: Line })

export interface ExportParts {
  readonly source: ExportSource
  readonly log: Pick<ChangeLog, 'state' | 'knows'>
  readonly cursors: Cursors
  readonly usage: UsageBook
  /** True if the process is about to end. Exports then end with a checkpoint after the current step. */
  readonly isStopping: () => boolean
}

/** The number of batches that all exports together read at once. */
const readAtOnce = 1

export function exportRoutes(app: TypedApp, parts: ExportParts): void {
  const { source, log, cursors, usage } = parts
  const slots = new FairSlots(readAtOnce, false)
  app.get(
    '/v1/export',
    {
      config: {
        operation: 'export.read',
        invalid,
        unavailable: 'catalog_unavailable',
        errors: ['invalid_cursor', 'entitlement_denied', 'cursor_expired'],
      },
      schema: {
        tags: ['Export'],
        summary: 'Export every document',
        description:
          'Addition: everything the application may read, with texts, ordered by document ID, one JSON object per line. It is streamed, as fast as you read it. ' +
          'It is not a snapshot: each document is as it was when its line was written. Together with the change feed from `changes_cursor` it is complete: whatever was added, changed or erased meanwhile is reported there. ' +
          'A response without `end` as its last line is not complete: repeat the request with the last `cursor` you received; documents after that checkpoint are sent again. ' +
          'If the entitlements of the application change during an export, it stops with `cursor_expired`, and its cursors are 410: start over.',
        querystring: Query,
        response: {
          200: {
            description:
              `NDJSON. With \`Accept: ${parquet}\`, one Parquet file of at most \`limit\` documents instead; it may have fewer. ` +
              'Its columns are the fields of `document` and, prefixed with `version_`, of `content`; `author` is JSON; what the application may not read is null or empty. ' +
              `The cursors are then in the headers \`${nextCursorHeader}\` (absent at the end) and \`${changesCursorHeader}\`.`,
            content: {
              [ndjson]: { schema: Lines },
              [parquet]: { schema: Type.String({ format: 'binary' }) },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { versions = 'current', limit = null } = request.query
      const isFile = acceptsParquet(request.headers.accept)
      if (isFile && limit !== null && limit > pageLimits.documentsMax) {
        throw invalidField(invalid, 'limit', `must be at most ${pageLimits.documentsMax} for a Parquet file`)
      }
      const lists = splitLists(request.query, ['dataset_id', 'source_platform'], invalid)
      const filter = { datasets: lists.dataset_id, platforms: lists.source_platform }
      const { applicationId } = consumerOf(request)
      const binding = ['export', applicationId, sorted(filter.datasets), sorted(filter.platforms), versions]
      const started = await progressOf(request.query.cursor ?? null, binding)
      const scope = currentScope(request, filter, started.entitlements)
      await scope()
      const from = { ...started, entitlements: entitlementsOf(request) }
      await takeQuota(request, reply, usage)
      reply.type(isFile ? parquet : `${ndjson}; charset=utf-8`)
      // A HEAD request reads nothing.
      if (request.method === 'HEAD') return reply.send(null as never)
      const gone = abortSignalOf(reply)
      const run = {
        from,
        versions,
        limit: limit ?? (isFile ? pageLimits.documentsDefault : null),
        applicationId,
        scope,
        gone,
      }
      const steps = readExport(run, source, slots)
      const follow = { applicationId, types: eventTypes, ...filter, ingestedFrom: null, ingestedTo: null }
      const changesCursor = () => cursors.sign(feedBinding(follow), packPosition(from.changesFrom))
      const cursor = (progress: ExportProgress) => cursors.sign(binding, packed(progress))
      if (isFile) {
        const { parquetPage } = await import('./parquet-page.ts')
        const page = await parquetPage(steps, pageLimits.lineBytes)
        reply.header(changesCursorHeader, changesCursor())
        if (!page.atEnd) reply.header(nextCursorHeader, cursor(page.progress))
        return reply.send(Buffer.from(page.bytes) as never)
      }
      // The first step is read before the response starts, so that a failure gets its own status.
      const first = await steps.next()
      const { isStopping } = parts
      const lines = linesOf(request, first, steps, { changesCursor, cursor, isStopping, gone })
      return reply.send(Readable.from(lines, { objectMode: false }) as never)
    },
  )

  async function progressOf(cursor: string | null, binding: unknown): Promise<StartedExport> {
    const { newest, removedThrough, last } = await log.state(expiryNow())
    if (cursor === null) {
      const changesFrom = { position: newest, passed: last }
      return { position: null, documents: 0, changesFrom, entitlements: null }
    }
    const opened = await cursors.open<Packed>(cursor, binding)
    if (!opened.ok) {
      throw invalidField(
        'invalid_cursor',
        'cursor',
        'belongs to another export or other filters: send the cursor unchanged, with the same filters',
      )
    }
    const progress = unpacked(opened.position)
    // Changes since the start of the export may have been removed from the feed.
    if (progress.changesFrom.position < removedThrough) throw expired()
    if (!(await log.knows(progress.changesFrom))) throw rolledBackError()
    return progress
  }
}

interface AnswerParts {
  readonly changesCursor: () => string
  readonly cursor: (progress: ExportProgress) => string
  readonly isStopping: () => boolean
  readonly gone: AbortSignal
}

async function* linesOf(
  request: FastifyRequest,
  first: IteratorResult<ExportStep>,
  steps: AsyncGenerator<ExportStep>,
  { changesCursor, cursor, isStopping, gone }: AnswerParts,
): AsyncGenerator<string> {
  yield exportLine({ type: 'start', changes_cursor: changesCursor() })
  try {
    for (let step = first; step.done !== true; step = await steps.next()) {
      const { lines, progress, isCheckpoint, atEnd } = step.value
      if (lines.length > 0) yield lines
      const isLeft = !atEnd && isStopping()
      if (isCheckpoint || isLeft) yield exportLine({ type: 'checkpoint', cursor: cursor(progress) })
      if (atEnd) yield exportLine({ type: 'end', documents: progress.documents, changes_cursor: changesCursor() })
      if (isLeft) return
    }
  } catch (error) {
    // An unexpected error ends the response early and is logged.
    if (!(error instanceof TidemarkError) || gone.aborted) throw error
    if (error.status >= 500) request.degraded('export_incomplete', error)
    yield exportLine({ type: 'error', code: error.code, message: error.message, request_id: request.id })
  } finally {
    await steps.return(undefined)
  }
}

/**
 * The progress from a cursor. `entitlements` is null for an export that starts now, and in cursors of earlier versions.
 */
type StartedExport = Omit<ExportProgress, 'entitlements'> & { readonly entitlements: string | null }

/** Returns a digest of the caller's entitlements, without the ids of the entries. */
function entitlementsOf(request: FastifyRequest): string {
  const entries = consumerOf(request).entitlements.map(({ entitlement_id: _, ...entry }) => entry)
  return hash('sha256', JSON.stringify(entries), 'base64url')
}

/**
 * Returns what the caller may read now, as the same object while it does not change. Throws if the entitlements differ
 * from those at the start: some lines already sent might no longer be readable, and some lines already passed might
 * have become readable. A dataset that is being erased does not count as a change, because the feed reports the erased
 * documents.
 */
function currentScope(
  request: FastifyRequest,
  filter: { readonly datasets: readonly string[] | null; readonly platforms: readonly string[] | null },
  entitlementsAtStart: string | null,
): () => Promise<Scope> {
  let entitlements = entitlementsAtStart
  let known: { readonly entries: unknown; readonly text: string; readonly scope: Scope } | null = null
  return async () => {
    await request.recheckCredential()
    const consumer = consumerOf(request)
    if (known !== null && consumer.entries === known.entries) return known.scope
    const scope = scopeOf(consumer, filter, { datasets: 'dataset_id', platforms: 'source_platform' })
    entitlements ??= entitlementsOf(request)
    if (entitlements !== entitlementsOf(request)) throw entitlementsChanged()
    const text = JSON.stringify(scope)
    known = { entries: consumer.entries, text, scope: known?.text === text ? known.scope : scope }
    return known.scope
  }
}

const entitlementsChanged = (): TidemarkError =>
  new TidemarkError(
    'cursor_expired',
    'the entitlements of the application have changed since this export started: start over with GET /v1/export without a cursor, and replace what you have',
    { details: [{ path: 'cursor', message: 'was issued under other entitlements: start over without it' }] },
  )

const sorted = (values: readonly string[] | null) => values && [...values].sort()

/** The form in a cursor. */
type Packed = readonly [
  documentId: string | null,
  versionId: string | null,
  documents: number,
  changesFrom: PackedFeedPosition,
  /** Absent in cursors of earlier versions. */
  entitlements?: string,
]

const packed = ({ position, documents, changesFrom, entitlements }: ExportProgress): Packed => [
  position?.documentId ?? null,
  position?.versionId ?? null,
  documents,
  packPosition(changesFrom),
  entitlements,
]

const unpacked = ([documentId, versionId, documents, changesFrom, entitlements]: Packed): StartedExport => ({
  position: documentId === null ? null : { documentId, versionId },
  documents,
  changesFrom: unpackPosition(changesFrom),
  entitlements: entitlements ?? null,
})
