import { setImmediate } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { UsageBook } from '../access/usage-book.ts'
import type { Cursors } from '../cursors.ts'
import type { ErrorCode } from '../errors.ts'
import { callerOf, consumerOf, scopeOf } from '../http/route.ts'
import { takeQuota } from '../http/take-quota.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { LiveQueries } from '../live/live-queries.ts'
import { liveTopUpOf } from '../live/live-request.ts'
import { LiveQuery, liveQueryAnswer } from '../live/schemas.ts'
import { Type } from '../schema-types.ts'
import { writtenForm } from '../text/written-form.ts'
import { choice, named, noFields, orNull } from '../validation.ts'
import type { Correction } from './correct-query.ts'
import { facetAnswer, facetAnswerFields } from './facet-answer.ts'
import { KeywordCursors } from './keyword-cursors.ts'
import { searchLimits as limits } from './limits.ts'
import { narrowingByNeed } from './narrowing.ts'
import { ResultItem } from './result-item.ts'
import type { SearchMeasures } from './search-measures.ts'
import {
  bindingOf,
  checkSearch,
  type Mode,
  modes,
  namedFields,
  neededPermissions,
  SearchBody,
  SearchWithLiveBody,
  searchBodyOf,
} from './search-request.ts'
import type { PresentedPage, SearchTexts } from './search-texts.ts'
import { SearchTime } from './search-time.ts'
import type { Searcher } from './searcher.ts'
import type { Shortfall, Warning } from './shortfall.ts'

const warningMessages: Record<Warning, string> = {
  vector_search_unavailable: 'Vector search timed out or is down; these are keyword results.',
  keyword_search_timed_out: 'Keyword search timed out; its results are missing.',
  live_query_unavailable: 'Live collection could not be started; these are historical results.',
  search_index_rebuilding: 'The search index is being rebuilt; documents that are not in it yet are missing.',
  vectors_pending: 'More than 1 % of the searched text has no vector yet and is found by words only.',
}

/** Says why a live query was not started in the same words as `POST /v1/live-queries`. */
const warningMessage = (code: Warning, notStarted: Error | null): string =>
  code === 'live_query_unavailable' && notStarted !== null
    ? `Live collection could not be started: ${notStarted.message}. These are historical results.`
    : warningMessages[code]

const Answer = named(
  'SearchResponse',
  Type.Object({
    mode: choice(modes),
    results: Type.Array(ResultItem),
    total: Type.Integer({
      description:
        'The number of documents on this page, not of all matches. Request `facets` for counts of all matches.',
    }),
    total_documents: Type.Integer({ description: 'The same as `total`.' }),
    total_chunks: Type.Integer({
      description:
        'The number of matching chunks. In vector mode only the nearest are counted; in hybrid mode the matches by words or the candidates by vector, whichever are more.',
    }),
    top_k: Type.Integer({
      description:
        'The number of candidates considered; in hybrid mode per branch, 50, or 100 with more than 25 results, facets or chunks.',
    }),
    cursor: Type.Optional(
      Type.String({ description: 'Keyword mode only: for the next page. Absent if there is none.' }),
    ),
    corrections: Type.Optional(
      Type.Array(
        named(
          'Correction',
          Type.Object({
            from: Type.String({ description: 'The word as typed.' }),
            to: Type.String({ description: 'The word that was searched for instead.' }),
          }),
        ),
        {
          description: `Addition, with \`typo\`: the corrections that were searched for, closest first, up to ${limits.correctionsMax} per word. Absent if there are none.`,
        },
      ),
    ),
    ...facetAnswerFields,
    degraded: Type.Boolean({
      description: 'Whether something failed: true with any warning except `vectors_pending`.',
    }),
    warnings: Type.Array(
      named(
        'SearchWarning',
        Type.Object({ code: choice(Object.keys(warningMessages) as Warning[]), message: Type.String() }),
      ),
      {
        description: Object.entries(warningMessages)
          .map(([code, message]) => `- \`${code}\`: ${message}`)
          .join('\n'),
      },
    ),
    live_query: orNull(LiveQuery, {
      description: 'The live collection, if one was requested and started.',
    }),
  }),
)

export interface SearchParts {
  readonly searcher: Searcher
  readonly measures: SearchMeasures
  readonly texts: SearchTexts
  readonly cursors: Cursors
  readonly usage: UsageBook
  readonly live: LiveQueries
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
const response = { 200: Answer }
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
      schema: { ...about('Search', live), querystring: noFields, ...withLive },
    },
    (request, reply) => answer(request, reply, request.body, null, parts, 'search.default'),
  )
  app.post(
    '/v1/contents/search',
    {
      config: config('search.contents', 'idempotency_key_reused'),
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
  { searcher, measures, texts, cursors, usage, live }: SearchParts,
  operation: Operation,
): Promise<never> {
  const consumer = consumerOf(request)
  const search = checkSearch(body, fixedMode, searcher.dimensions)
  const liveRequest = liveTopUpOf(request.headers['idempotency-key'], body, consumer)
  const binding = () => [consumer.applicationId, bindingOf(search)]
  const pages = new KeywordCursors(cursors)
  const after = search.cursor === null ? null : await pages.open(search.cursor, binding())
  const asked = {
    datasets: body.datasets ?? null,
    platforms: body.platforms ?? null,
    fields: namedFields(body),
    needs: neededPermissions(search),
    wants: search.wants,
  }
  const scope = scopeOf(consumer, asked, narrowingByNeed(body))
  const started = liveRequest === null ? null : await live.start(consumer, liveRequest)
  try {
    await takeQuota(request, reply, usage, operation)
  } catch (error) {
    // Limits of live come before the quota, so that a 429 takes nothing from it; the other way round likewise.
    if (started !== null && 'liveQuery' in started) await live.takeBack(started)
    throw error
  }
  const time = new SearchTime()
  const result = await searcher.search(search, scope, after, callerOf(request, reply), time)
  const { found, query } = result
  const { fields, highlights, chunks } = search
  const [page, next] = await Promise.all([
    result.page ??
      (found.length === 0 ? emptyPage : time.texts(texts).present({ found, query, fields, highlights, chunks }, scope)),
    result.next === null ? {} : whileWaiting(() => ({ cursor: pages.sign(binding(), result.next!) })),
  ])
  measures.searched(search.mode, time)
  const corrections = asWritten(result.corrections, page)
  const shortfalls: Shortfall[] = [...result.shortfalls]
  const notStarted = started !== null && 'cause' in started ? started.cause : null
  if (notStarted !== null) shortfalls.push({ what: 'live_query_unavailable', cause: notStarted })
  for (const { what, cause } of shortfalls) request.degraded(what, cause)
  const degradations = shortfalls.flatMap(({ what }) => (what === 'rerank_unavailable' ? [] : what))
  const warnings: Warning[] = result.vectorsPending ? [...degradations, 'vectors_pending'] : degradations
  const rest: Omit<Static<typeof Answer>, 'mode' | 'results'> = {
    total: page.total,
    total_documents: page.total,
    total_chunks: result.totalChunks,
    top_k: result.topK,
    ...next,
    ...(corrections.length === 0 ? {} : { corrections }),
    ...facetAnswer(search.facets, result),
    degraded: degradations.length > 0,
    warnings: warnings.map((code) => ({ code, message: warningMessage(code, notStarted) })),
    live_query: started === null || 'cause' in started ? null : liveQueryAnswer(started.liveQuery),
  }
  // Written here: results are text already, and for values that may be null the framework's serialiser tries one schema
  // after the other, which takes several times as long.
  reply.type('application/json; charset=utf-8')
  return `{"mode":"${search.mode}","results":${page.results},${JSON.stringify(rest).slice(1)}` as never
}

/** Once the store has been asked, which takes some turns of what is under way: that answers meanwhile. */
async function whileWaiting<T>(work: () => T): Promise<T> {
  await setImmediate()
  return work()
}

const emptyPage: PresentedPage = { total: 0, results: '[]' }

/** With accents, as what is shown has them: the index knows words without. */
function asWritten(corrections: readonly Correction[], { results }: PresentedPage): Correction[] {
  if (corrections.length === 0) return []
  const texts = (JSON.parse(results) as ResultItem[]).flatMap(({ title, body }) => [title ?? '', body ?? ''])
  return corrections.map(({ from, to }) => ({ from, to: writtenForm(to, texts) }))
}
