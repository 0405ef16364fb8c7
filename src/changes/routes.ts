import { Type } from 'typebox'
import type { UsageBook } from '../access/usage-book.ts'
import { cursorParameter, listParameter, splitLists, timeParameter } from '../http/query-parameters.ts'
import { abortSignalOf, consumerOf, scopeOf } from '../http/route.ts'
import { takeQuota } from '../http/take-quota.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Cursors } from '../platform/cursors.ts'
import { invalidField } from '../platform/errors.ts'
import { isWrongInterval, parseOptionalBound } from '../platform/time.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import { choice, named, pageSize, strict } from '../platform/validation.ts'
import {
  type ChangeLog,
  defaultEventTypes,
  eventTypes,
  type FeedState,
  isEventType,
  packPosition,
} from './change-log.ts'
import type { ChangeSignal } from './change-signal.ts'
import { feedBinding } from './feed-binding.ts'
import type { FeedMeasures } from './feed-measures.ts'
import { feedPositionOf, KnownFeed, readChanges, retentionDays } from './read-changes.ts'

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
          '`document.created`; `document.version.created`: title or body changed; `document.metrics.updated`: score or metrics changed (permission `metrics`). ' +
          'Sent only to readers that request them in `event_type`: `document.updated`, another field of the document object changed; ' +
          '`document.erased`, the document was erased for good: remove it.',
      }),
      dataset_id: Type.String(),
      source_platform: Type.String(),
      document_id: Type.String(),
      version_id: Type.Optional(Type.String({ description: 'Present for created documents and new versions.' })),
      changed_fields: Type.Array(
        Type.String({
          description:
            'The name of a changed field that the application may read. In `document.updated`, a field of the document object; ' +
            'for a document that leaves the entitlements, only `language`, `region` or `published_at`.',
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
    cursor: cursorParameter(
      '`next_cursor` of the previous page. Without it, reading starts at the earliest event that is kept.',
    ),
    start: Type.Optional(
      choice(starts, {
        // The schema has no default, because it would be filled in even if there is a cursor.
        description:
          'Addition: where a first read starts. `earliest` (the default): at the earliest event that is kept. `latest`: after the latest event; ' +
          'this returns an empty page at once, with a cursor. Not allowed with `cursor`.',
      }),
    ),
    limit: pageSize(200, 100),
    event_type: listParameter(
      `Event types. Default: ${defaultEventTypes.map((type) => `\`${type}\``).join(', ')}. ` +
        'Addition: the other two are sent only if requested, and are recorded since this version was installed.',
      eventTypes,
    ),
    dataset_id: listParameter('Only events of these datasets.'),
    source_platform: listParameter('Only events of these platforms.'),
    ingested_from: timeParameter('Only events ingested at this time or later.'),
    ingested_to: timeParameter('Only events ingested before this time.'),
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
  readonly tracer?: Tracer
}

export function changesRoutes(
  app: TypedApp,
  { log, signal, cursors, usage, measures, tracer = untraced }: ChangesParts,
): void {
  const feed = new KnownFeed(log)
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
          'You get events of documents that were within the entitlements when the event was written. A document that enters or leaves them gives a `document.updated`. ' +
          `Events are kept for ${retentionDays} days: an older cursor is 410 \`cursor_expired\`, and so is one after events that were lost because the service was rolled back to an earlier state. Then start over with \`GET /v1/export\`.`,
        querystring: Query,
        response: { 200: named('ChangePage', Type.Object({ items: Type.Array(Event), next_cursor: Type.String() })) },
      },
    },
    async (request, reply) => {
      const consumer = consumerOf(request)
      const { cursor = null, start, limit = 100, wait = 0 } = request.query
      if (cursor !== null && start !== undefined)
        throw invalid('start', 'is only for a first read: leave it out if you send a cursor')
      const {
        event_type: types,
        dataset_id: datasets,
        source_platform: platforms,
      } = splitLists(request.query, ['event_type', 'dataset_id', 'source_platform'], 'invalid_changes_query')
      const requestedTypes = types === null ? defaultEventTypes : types.filter(isEventType)
      if (types !== null && requestedTypes.length < types.length) {
        throw invalid('event_type', `must be one of ${eventTypes.join(', ')}`)
      }
      const { ingested_from, ingested_to } = request.query
      if (isWrongInterval(ingested_from, ingested_to)) {
        throw invalid('ingested_to', 'must be after ingested_from')
      }
      const [ingestedFrom, ingestedTo] = [parseOptionalBound(ingested_from), parseOptionalBound(ingested_to)]
      const { applicationId } = consumer
      const binding = feedBinding({ applicationId, types, datasets, platforms, ingestedFrom, ingestedTo })
      const reached = await feedPositionOf(cursor, binding, feed, cursors)
      const scopeNow = () =>
        scopeOf(
          consumerOf(request),
          { datasets, platforms, hidden: [] },
          { datasets: 'dataset_id', platforms: 'source_platform' },
        )
      let scope = scopeNow()
      await takeQuota(request, reply, usage)
      const latest = ({ newest, last }: FeedState) => ({
        events: [],
        nextCursor: cursors.sign(binding, packPosition({ position: newest, passed: last })),
        position: newest,
        atEnd: true,
      })
      const earliest = reached === null ? { earliest: await feed.removedThrough() } : {}
      const page =
        start === 'latest'
          ? latest(await log.state())
          : await readChanges(
              {
                binding,
                after: reached?.position ?? null,
                passed: reached?.passed ?? null,
                limit,
                waitMs: wait * 1000,
                aborted: abortSignalOf(reply),
                filter: () => ({ scope, eventTypes: requestedTypes, ingestedFrom, ingestedTo, ...earliest }),
                hold: async (woken) => {
                  request.releasePermit()
                  await tracer.childSpan('changes wait', () => request.exchange.holdUntil(woken))
                  await request.recheckCredential()
                  scope = scopeNow()
                },
              },
              log,
              signal,
              cursors,
            )
      // The credential may have been revoked during the wait.
      if (wait > 0) await request.recheckCredential()
      measures.read(applicationId, page.atEnd ? 0 : feed.eventsAfter(page.position))
      return { items: page.events, next_cursor: page.nextCursor }
    },
  )
}

const invalid = (path: string, message: string) => invalidField('invalid_changes_query', path, message)
