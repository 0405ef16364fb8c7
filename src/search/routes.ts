import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { callerOf, consumerOf, scopeOf } from '../http/route.ts'
import { takeQuota } from '../http/take-quota.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { LiveQueries } from '../live/live-queries.ts'
import { liveTopUpOf } from '../live/live-request.ts'
import type { Cursors } from '../platform/cursors.ts'
import type { ErrorCode } from '../platform/errors.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import { noFields } from '../platform/validation.ts'
import type { Degradation } from './degradations.ts'
import { KeywordCursors } from './parse/keyword-cursors.ts'
import { type Mode, modes, SearchBody, SearchWithLiveBody, searchBodyOf } from './parse/search-request.ts'
import { SearchAnswer, searchAnswer } from './present/search-answer.ts'
import type { SearchMeasures } from './search-measures.ts'
import { SearchTime } from './search-time.ts'
import type { Searcher } from './searcher.ts'

export interface SearchParts {
  readonly searcher: Searcher
  readonly measures: SearchMeasures
  readonly cursors: Cursors
  readonly usage: UsageBook
  readonly live: LiveQueries
  readonly tracer?: Tracer
}

const config = (operation: Operation, ...errors: ErrorCode[]) =>
  ({
    operation,
    invalid: 'invalid_query',
    unavailable: 'search_backend_unavailable',
    errors: ['entitlement_denied', ...errors],
  }) as const
const about = (summary: string, description: string) => ({ tags: ['Search'], summary, description })
const modeMeanings: Record<Mode, string> = {
  keyword: 'Finds documents by their words.',
  vector: 'Finds documents by meaning, in any language the model knows.',
  hybrid: 'Combines keyword and vector search, and reranks the best candidates.',
}
const response = { 200: SearchAnswer }
/** Removes `live` if it is disabled, so that its other fields are not validated. */
const preValidation = ({ body }: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
  const search = body as { live?: { enabled?: unknown } | null } | null | undefined
  if (search?.live?.enabled === false) delete search.live
  done()
}
const withLive = {
  headers: Type.Object({
    'idempotency-key': Type.Optional(
      Type.String({ description: 'Required with `live.enabled`. 1 to 255 printable characters.' }),
    ),
  }),
  body: SearchWithLiveBody,
  response,
}
export function searchRoutes(app: TypedApp, parts: SearchParts): void {
  const live =
    'Searches everything collected so far. With `live.enabled` it also starts an on-demand collection; this needs `Idempotency-Key`, exactly one dataset, 1 to 5 platforms and a `query`. ' +
    'For 24 hours the same key with the same body (apart from `cursor`) returns the same live query. Read its results at `/v1/live-queries/{id}/results`.'
  app.post(
    '/v1/search',
    {
      config: config('search.default', 'idempotency_key_reused'),
      preValidation,
      schema: { ...about('Search', live), querystring: noFields, ...withLive },
    },
    (request, reply) => answer(request, reply, request.body, null, parts, 'search.default'),
  )
  app.post(
    '/v1/contents/search',
    {
      config: config('search.contents', 'idempotency_key_reused'),
      preValidation,
      schema: {
        ...about(
          'Search (legacy path)',
          'Use `POST /v1/search`. This path does the same and counts towards the same quota.',
        ),
        deprecated: true,
        querystring: noFields,
        ...withLive,
      },
    },
    (request, reply) => answer(request, reply, request.body, null, parts, 'search.default'),
  )
  app.post(
    '/v1/search/history',
    {
      config: config('search.history'),
      schema: {
        ...about(
          'Search history',
          'Like `POST /v1/search`, without `live`: searches what has been collected so far and never starts a collection.',
        ),
        querystring: noFields,
        body: SearchBody,
        response,
      },
    },
    (request, reply) => answer(request, reply, request.body, null, parts, 'search.history'),
  )
  for (const mode of modes) {
    app.post(
      `/v1/search/${mode}`,
      {
        config: config(`search.${mode}`),
        schema: {
          ...about(
            `${mode.charAt(0).toUpperCase()}${mode.slice(1)} search`,
            `${modeMeanings[mode]} Searches what has been collected so far and never starts a collection.`,
          ),
          querystring: noFields,
          body: searchBodyOf(mode),
          response,
        },
      },
      (request, reply) => answer(request, reply, request.body, mode, parts, `search.${mode}`),
    )
  }
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Static<typeof SearchWithLiveBody>,
  fixedMode: Mode | null,
  { searcher, measures, cursors, usage, live, tracer = untraced }: SearchParts,
  operation: Operation,
): Promise<Static<typeof SearchAnswer>> {
  const consumer = consumerOf(request)
  const parsed = tracer.childSpan('search parse', () => searcher.parse(body, fixedMode))
  const search = parsed.request
  request.trace?.setAttributes({ 'tidemark.search_mode': search.mode })
  const liveRequest = liveTopUpOf(request.headers['idempotency-key'], body, consumer)
  const binding = () => [consumer.applicationId, parsed.binding()]
  const paging = await new KeywordCursors(cursors).paging(search.cursor, binding)
  const scope = scopeOf(consumer, parsed.access, parsed.namesByNeed)
  const started = liveRequest === null ? null : await live.start(consumer, liveRequest)
  try {
    await takeQuota(request, reply, usage, operation)
  } catch (error) {
    // Limits of live queries are checked before the quota, so that their 429 does not use up quota. If the quota is
    // exhausted, the live query is cancelled.
    if (started !== null && 'liveQuery' in started) await live.undoStart(started)
    throw error
  }
  const time = new SearchTime(tracer)
  const result = await searcher.search(search, scope, paging, callerOf(request, reply), time)
  measures.searched(search.mode, time)
  const degradations: Degradation[] = [...result.degradations]
  if (started !== null && 'cause' in started)
    degradations.push({ code: 'live_query_unavailable', cause: started.cause })
  for (const { code, cause } of degradations) request.degraded(code, cause)
  return searchAnswer(search, { ...result, degradations }, started)
}
