import { Type } from 'typebox'
import type { Consumer } from '../access/principal.ts'
import type { Scope } from '../access/scope.ts'
import { consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { noFields } from '../platform/validation.ts'
import type { LiveQueries } from './live-queries.ts'
import { LiveQueryBody, liveRequestOf } from './live-request.ts'
import { about, byId, route } from './live-route.ts'
import { LiveQuery, liveQueryAnswer } from './schemas.ts'

export function liveRoutes(app: TypedApp, live: LiveQueries): void {
  app.post(
    '/v1/live-queries',
    {
      config: route('live.create', 'entitlement_denied', 'idempotency_key_reused'),
      schema: {
        ...about(
          'Create a live query',
          'Starts an on-demand collection. Needs the header `Idempotency-Key`: for 24 hours the same key with the same body returns the same live query. ' +
            '503 `live_query_unavailable` with `Retry-After` if no collector has asked for tasks of one of the platforms in the last 5 minutes; without it if live collection is off for the application, which only its operator can change.',
        ),
        querystring: noFields,
        headers: Type.Object({
          'idempotency-key': Type.String({ description: 'Chosen by the caller: 1 to 255 printable characters.' }),
        }),
        body: LiveQueryBody,
        response: { 202: LiveQuery },
      },
    },
    async (request, reply) => {
      const consumer = consumerOf(request)
      const requested = liveRequestOf(request.headers['idempotency-key'], request.body, consumer)
      liveScope(consumer, requested.dataset, requested.platforms)
      const started = await live.start(consumer, requested)
      if ('cause' in started) throw started.cause
      const { liveQuery, isNew } = started
      request.isRepeat = !isNew
      return reply
        .status(202)
        .header('location', `/v1/live-queries/${liveQuery.liveQueryId}`)
        .send(liveQueryAnswer(liveQuery))
    },
  )
  app.get(
    '/v1/live-queries/:live_query_id',
    {
      config: route('live.read', 'live_query_not_found'),
      schema: {
        ...about('Get a live query', 'The status of a live query and of its runs. Live queries are kept for 30 days.'),
        params: byId,
        querystring: noFields,
        response: { 200: LiveQuery },
      },
    },
    async (request) => liveQueryAnswer(await live.find(consumerOf(request), request.params.live_query_id)),
  )
}

/** As in search, an application cannot collect text that it may not read. */
export function liveScope(consumer: Consumer, dataset: string, platforms: readonly string[]): Scope {
  return scopeOf(consumer, { datasets: [dataset], platforms, needs: [['title', 'body']] })
}
