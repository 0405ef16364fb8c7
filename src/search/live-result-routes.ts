import { Type } from 'typebox'
import { cursorParameter } from '../http/query-parameters.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { liveLimits as limits } from '../live/limits.ts'
import { type LiveQueries, statusOf } from '../live/live-queries.ts'
import { about, byId, route } from '../live/live-route.ts'
import type { ItemPosition } from '../live/live-store.ts'
import { liveScope } from '../live/routes.ts'
import { LiveQuery, liveQueryAnswer } from '../live/schemas.ts'
import { isReady } from '../live/states.ts'
import type { Cursors } from '../platform/cursors.ts'
import { TidemarkError } from '../platform/errors.ts'
import { named, pageSize, strict } from '../platform/validation.ts'
import { invalid } from './parse/search-request.ts'
import { ResultItem } from './present/result-item.ts'
import { readLiveResults } from './read-live-results.ts'

/** Results of live collection have the same form as results of a search. */
export function liveResultRoutes(
  app: TypedApp,
  { live, cursors }: { readonly live: LiveQueries; readonly cursors: Cursors },
): void {
  app.get(
    '/v1/live-queries/:live_query_id/results',
    {
      config: route('live.results', 'entitlement_denied', 'live_query_not_found', 'live_query_results_not_ready'),
      schema: {
        ...about(
          'Get the results of a live query',
          'Available when the status is `completed`, `partial` or `failed`; until then 409 `live_query_results_not_ready`. ' +
            'Documents within the current entitlements of the application, in the order given by the collectors. They are also stored as ordinary documents and soon searchable.',
        ),
        params: byId,
        querystring: Type.Object(
          {
            limit: pageSize(limits.resultsMax, limits.resultsDefault),
            cursor: cursorParameter('`cursor` of the previous page. Send the same `limit`.'),
          },
          strict,
        ),
        response: {
          200: named(
            'LiveQueryResults',
            Type.Object({
              live_query: LiveQuery,
              results: Type.Array(ResultItem),
              cursor: Type.Optional(Type.String({ description: 'For the next page. Absent if there is none.' })),
            }),
          ),
        },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { limit = limits.resultsDefault, cursor } = request.query
      const id = request.params.live_query_id
      const binding = ['live-results', consumer.applicationId, id, limit]
      let after: ItemPosition | null = null
      if (cursor !== undefined) {
        const opened = await cursors.open<ItemPosition>(cursor, binding)
        if (!opened.ok)
          throw invalid('cursor', 'does not belong to this request: repeat it unchanged, with the same limit')
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
          `the live query is ${statusOf(liveQuery)}: poll it until its status is completed, partial or failed`,
        )
      }
      const page = await readLiveResults(live.store, liveQuery, scope, after, limit)
      return {
        live_query: liveQueryAnswer(liveQuery),
        results: page.results,
        ...(page.next === null ? {} : { cursor: cursors.sign(binding, page.next) }),
      }
    },
  )
}
