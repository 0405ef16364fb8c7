import type { UsageBook } from '../access/usage-book.ts'
import type { Cursors } from '../cursors.ts'
import { invalidField } from '../errors.ts'
import { listParameter, splitList } from '../http/list-parameter.ts'
import { abortSignalOf, consumerOf, scopeOf } from '../http/route.ts'
import { takeQuota } from '../http/take-quota.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { Type } from '../schema-types.ts'
import { parseOptionalTime } from '../time.ts'
import { choice, named, pageSize, strict } from '../validation.ts'
import { type ChangeLog, eventTypes, isEventType, plainEventTypes } from './change-log.ts'
import type { ChangeSignal } from './change-signal.ts'
import { feedBinding } from './feed-binding.ts'
import type { FeedMeasures } from './feed-measures.ts'
import { readAhead } from './read-ahead.ts'
import { KnownFeed, positionOfCursor, readChanges, retentionDays } from './read-changes.ts'

const waitSecondsMax = 30
const starts = ['earliest', 'latest'] as const

const Event = named(
  'ChangeEvent',
  Type.Object(
    {
      sequence: Type.Integer({ description: 'Position in the single sequence of the instance; strictly increasing.' }),
      event_id: Type.String({ description: 'Unique. Use it to handle events idempotently.' }),
      schema_version: Type.Integer({ description: 'The version of this event format: 1.' }),
      event_type: choice(eventTypes, {
        description:
          '`document.created`; `document.version.created`: title or body changed; `document.metrics.updated`: score or metrics changed. ' +
          'Sent only to readers that request them in `event_type`: `document.updated`, another field of the document object changed; ' +
          '`document.erased`, the document was erased for good: remove it.',
      }),
      dataset_id: Type.String(),
      source_platform: Type.String(),
      document_id: Type.String(),
      version_id: Type.Optional(Type.String({ description: 'Present for created documents and new versions.' })),
      changed_fields: Type.Array(
        Type.String({
          description: 'The name of a changed field. In `document.updated`, of a field of the document object.',
        }),
      ),
      occurred_at: Type.String({
        format: 'date-time',
        description: 'For created documents the publication time, if known; otherwise `observed_at`.',
      }),
      observed_at: Type.String({ format: 'date-time', description: 'When the collector saw it.' }),
      ingested_at: Type.String({ format: 'date-time', description: 'When it was stored.' }),
    },
    {
      description:
        'When a document is erased, its earlier events keep only their IDs: `changed_fields` is empty, and all times equal `ingested_at`.',
    },
  ),
)

const Query = Type.Object(
  {
    cursor: Type.Optional(
      Type.String({
        description:
          '`next_cursor` of the previous page. Without it, reading starts at the earliest event that is kept.',
      }),
    ),
    start: Type.Optional(
      choice(starts, {
        // No default in the schema: it would be filled in beside a cursor.
        description:
          'Addition: where a first read starts. `earliest` (the default): at the earliest event that is kept. `latest`: after the latest event; ' +
          'this returns an empty page at once, with a cursor. Not allowed with `cursor`.',
      }),
    ),
    limit: pageSize(200, 100),
    event_type: listParameter(
      `Event types. Default: ${plainEventTypes.map((type) => `\`${type}\``).join(', ')}. ` +
        'Addition: the other two are sent only if requested, and are recorded since this version was installed.',
      eventTypes,
    ),
    dataset_id: listParameter('Only events of these datasets.'),
    source_platform: listParameter('Only events of these platforms.'),
    ingested_from: Type.Optional(
      Type.String({ format: 'date-time', description: 'Only events ingested at this time or later.' }),
    ),
    ingested_to: Type.Optional(
      Type.String({ format: 'date-time', description: 'Only events ingested before this time.' }),
    ),
    wait: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: waitSecondsMax,
        default: 0,
        description:
          'Addition: seconds to wait for an event if the page would be empty (long polling). A waiting request counts towards `max_in_flight` of the application.',
      }),
    ),
  },
  strict,
)

export interface ChangesParts {
  readonly log: ChangeLog
  readonly signal: ChangeSignal
  readonly cursors: Cursors
  readonly usage: UsageBook
  readonly measures: FeedMeasures
}

export function changesRoutes(app: TypedApp, { log, signal, cursors, usage, measures }: ChangesParts): void {
  const feed = new KnownFeed(log)
  const pages = readAhead(log)
  app.get(
    '/v1/changes',
    {
      config: {
        operation: 'changes.read',
        invalid: 'invalid_changes_query',
        unavailable: 'changes_unavailable',
        errors: ['invalid_cursor', 'entitlement_denied', 'cursor_expired'],
      },
      schema: {
        tags: ['Changes'],
        summary: 'Read the change feed',
        description:
          'Document events in the order in which they became visible; none is ever skipped. Process a page, then save its `next_cursor`, then request the next page with it. ' +
          'An empty page means that you are up to date; its cursor stays valid. A cursor is bound to the application and to all parameters except `start`, `limit` and `wait`, and can be replayed. ' +
          `Events are kept for ${retentionDays} days: an older cursor is 410 \`cursor_expired\`. Then start over with \`GET /v1/export\`.`,
        querystring: Query,
        response: { 200: named('ChangePage', Type.Object({ items: Type.Array(Event), next_cursor: Type.String() })) },
      },
    },
    async (request, reply) => {
      const consumer = consumerOf(request)
      const { cursor = null, start, limit = 100, wait = 0 } = request.query
      if (cursor !== null && start !== undefined)
        throw invalid('start', 'is only for a first read: leave it out if you send a cursor')
      const types = splitList(request.query.event_type, 'event_type', 'invalid_changes_query')
      const wantedTypes = types === null ? plainEventTypes : types.filter(isEventType)
      if (types !== null && wantedTypes.length < types.length) {
        throw invalid('event_type', `must be among ${eventTypes.join(', ')}`)
      }
      const datasets = splitList(request.query.dataset_id, 'dataset_id', 'invalid_changes_query')
      const platforms = splitList(request.query.source_platform, 'source_platform', 'invalid_changes_query')
      const ingestedFrom = parseOptionalTime(request.query.ingested_from)
      const ingestedTo = parseOptionalTime(request.query.ingested_to)
      if (ingestedFrom !== null && ingestedTo !== null && ingestedFrom >= ingestedTo) {
        throw invalid('ingested_to', 'must be after ingested_from')
      }
      const { applicationId } = consumer
      const binding = feedBinding({ applicationId, types, datasets, platforms, ingestedFrom, ingestedTo })
      const after = await positionOfCursor(cursor, binding, feed, cursors)
      const scope = scopeOf(
        consumer,
        { datasets, platforms, hidden: [] },
        { datasets: 'dataset_id', platforms: 'source_platform' },
      )
      await takeQuota(request, reply, usage)
      const latest = (position: number) => ({
        text: '',
        nextCursor: cursors.sign(binding, position),
        position,
        atEnd: true,
      })
      const page =
        start === 'latest'
          ? latest((await log.state()).newest)
          : await readChanges(
              {
                binding,
                after,
                limit,
                waitMs: wait * 1000,
                aborted: abortSignalOf(reply),
                filter: { allowed: scope.entries, eventTypes: wantedTypes, ingestedFrom, ingestedTo },
                waiting: () => request.releasePermit(),
              },
              pages,
              signal,
              cursors,
            )
      // Who was let in long ago may have been shut out since.
      if (wait > 0) await request.recheckCredential()
      measures.read(applicationId, page.atEnd ? 0 : feed.eventsAfter(page.position))
      reply.type('application/json; charset=utf-8')
      return `{"items":[${page.text}],"next_cursor":"${page.nextCursor}"}` as never
    },
  )
}

const invalid = (path: string, message: string) => invalidField('invalid_changes_query', path, message)
