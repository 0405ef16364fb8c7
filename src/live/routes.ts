import { Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { Consumer } from '../access/principal.ts'
import type { Scope } from '../access/scope.ts'
import type { Cursors } from '../cursors.ts'
import { TidemarkError } from '../errors.ts'
import { consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed.ts'
import { ResultItem } from '../search/present-results.ts'
import { liveLimits as limits } from './limits.ts'
import { type LiveQueries, statusOf } from './live-queries.ts'
import { LiveQueryBody, liveRequestOf } from './live-request.ts'
import type { ItemPlace } from './live-store.ts'
import { readResults } from './read-results.ts'
import { LiveQuery, liveQueryAnswer } from './schemas.ts'
import { isReady } from './states.ts'

const config = (operation: Operation) =>
  ({ surface: 'consumer', operation, invalid: 'invalid_query', unavailable: 'live_query_unavailable' }) as const
const about = (summary: string, description: string) => ({ tags: ['Live'], summary, description })
const ById = Type.Object({ live_query_id: Type.String({ minLength: 1, maxLength: 128 }) })
const nothing = Type.Object({}, { additionalProperties: false })
const error = (description: string) => ({ description, $ref: 'Error#' })
const notFound = error('`live_query_not_found`')

export interface LiveParts {
  readonly live: LiveQueries
  readonly cursors: Cursors
}

export function liveRoutes(app: TypedApp, { live, cursors }: LiveParts): void {
  app.post(
    '/v1/live-queries',
    {
      config: config('live.create'),
      schema: {
        ...about(
          'Start an on-demand collection',
          'Needs the header `Idempotency-Key` (1 to 255 printable characters): the same key with the same body gives the same live query for 24 hours. ' +
            '503 `live_query_unavailable` where live is off for the application, or where no collector has asked for tasks of one of the platforms in the last 5 minutes.',
        ),
        querystring: nothing,
        headers: Type.Object({
          'idempotency-key': Type.Optional(Type.String({ description: 'Required. Chosen by the caller.' })),
        }),
        body: LiveQueryBody,
        response: { 202: LiveQuery, 422: error('`idempotency_key_reused`: the key came with another body before.') },
      },
    },
    async (request, reply) => {
      const consumer = consumerOf(request)
      const asked = liveRequestOf(request.headers['idempotency-key'], request.body, consumer)
      liveScope(consumer, asked.dataset, asked.platforms)
      const started = await live.start(consumer, asked)
      if ('cause' in started) {
        if (started.cause instanceof TidemarkError) throw started.cause
        throw new TidemarkError(
          'live_query_unavailable',
          'live collection cannot be started now: it is off for this application, or no collector serves every platform named',
          { cause: started.cause },
        )
      }
      return reply.status(202).send(liveQueryAnswer(started.liveQuery))
    },
  )
  app.get(
    '/v1/live-queries/:live_query_id',
    {
      config: config('live.read'),
      schema: {
        ...about('The state of a live query', 'Kept for 30 days.'),
        params: ById,
        querystring: nothing,
        response: { 200: LiveQuery, 404: notFound },
      },
    },
    async (request) => liveQueryAnswer(await live.find(consumerOf(request), request.params.live_query_id)),
  )
  app.get(
    '/v1/live-queries/:live_query_id/results',
    {
      config: config('live.results'),
      schema: {
        ...about(
          'What a live query brought',
          'Ready when its status is `completed`, `partial` or `failed`; until then 409 `live_query_results_not_ready`. ' +
            "Documents within the application's entitlements as they are now, in the collectors' order. They are ordinary documents too, and soon in the index.",
        ),
        params: ById,
        querystring: Type.Object(
          {
            limit: Type.Optional(
              Type.Integer({ minimum: 1, maximum: limits.resultsMax, default: limits.resultsDefault }),
            ),
            cursor: Type.Optional(
              Type.String({ description: '`cursor` of the previous page, with the same `limit`.' }),
            ),
          },
          { additionalProperties: false },
        ),
        response: {
          200: Type.Object({
            live_query: LiveQuery,
            results: Type.Array(ResultItem),
            cursor: Type.Optional(Type.String({ description: 'Only when a next page exists.' })),
          }),
          404: notFound,
          409: error('`live_query_results_not_ready`: keep asking for the status.'),
        },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { limit = limits.resultsDefault, cursor } = request.query
      const id = request.params.live_query_id
      const binding = ['live-results', consumer.applicationId, id, limit]
      let after: ItemPlace | null = null
      if (cursor !== undefined) {
        const opened = await cursors.open<ItemPlace>(cursor, binding)
        if (!opened.ok) {
          const message = 'does not belong to this request: repeat it unchanged, with the same limit'
          throw new TidemarkError('invalid_query', `cursor ${message}`, { details: [{ path: 'cursor', message }] })
        }
        after = opened.position
      }
      const liveQuery = await live.find(consumer, id)
      const scope = liveScope(
        consumer,
        liveQuery.datasetId,
        liveQuery.runs.map(({ platform }) => platform),
      )
      if (!isReady(statusOf(liveQuery))) {
        throw new TidemarkError(
          'live_query_results_not_ready',
          `the live query is ${statusOf(liveQuery)}: ask for its status until it is completed, partial or failed`,
        )
      }
      const page = await readResults(live.store, liveQuery, scope, after, limit)
      return {
        live_query: liveQueryAnswer(liveQuery),
        results: page.results,
        ...(page.next === null ? {} : { cursor: cursors.sign(binding, page.next) }),
      }
    },
  )
}

/** As in search: text that may not be read cannot be collected either. */
function liveScope(consumer: Consumer, dataset: string, platforms: readonly string[]): Scope {
  return scopeOf(consumer, { datasets: [dataset], platforms, needs: [['title', 'body']] })
}
