import { type Static, Type } from 'typebox'
import type { LiveQueryNotStarted, StartedLiveQuery } from '../../live/live-queries.ts'
import { LiveQuery, liveQueryAnswer } from '../../live/schemas.ts'
import { choice, named, orNull } from '../../platform/validation.ts'
import type { Warning } from '../degradations.ts'
import { lagLimits, searchLimits as limits } from '../limits.ts'
import { modes, type SearchRequest } from '../parse/search-request.ts'
import { facetAnswer, facetAnswerFields } from './facet-answer.ts'
import { ResultItem } from './result-item.ts'
import type { SearchResult } from './search-result.ts'

const warningMessages: Record<Warning, string> = {
  vector_search_unavailable: 'Vector search timed out or is down; some or all results were found by words alone.',
  keyword_search_timed_out: 'Keyword search timed out; its results are missing.',
  live_query_unavailable: 'Live collection could not be started; these are historical results.',
  search_index_rebuilding: 'The search index is being rebuilt; documents that are not in it yet are missing.',
  search_index_behind: `The search index is behind: documents accepted more than ${lagLimits.standingStillMs / 1000} seconds ago may be missing or outdated.`,
  vectors_pending: 'More than 1 % of the searched text has no vector yet and is found by words only.',
}

export const SearchAnswer = named(
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

/** `started` is the live query that the request started. If it could not be started, a degradation says so. */
export function searchAnswer(
  { mode, facets }: Pick<SearchRequest, 'mode' | 'facets'>,
  result: SearchResult,
  started: StartedLiveQuery | LiveQueryNotStarted | null,
): Static<typeof SearchAnswer> {
  const { page, corrections, cursor } = result
  const notStarted = started !== null && 'cause' in started ? started.cause : null
  const reported = result.degradations.flatMap(({ code }) => (code === 'rerank_unavailable' ? [] : code))
  const warnings: Warning[] = result.vectorsPending ? [...reported, 'vectors_pending'] : reported
  return {
    mode,
    results: [...page.results],
    total: page.results.length,
    total_documents: page.results.length,
    total_chunks: result.totalChunks,
    top_k: result.topK,
    ...(cursor === null ? {} : { cursor }),
    ...(corrections.length === 0 ? {} : { corrections: [...corrections] }),
    ...facetAnswer(facets, result),
    degraded: reported.length > 0,
    warnings: warnings.map((code) => ({ code, message: warningMessage(code, notStarted) })),
    live_query: started === null || 'cause' in started ? null : liveQueryAnswer(started.liveQuery),
  }
}

/** Adds the error of `POST /v1/live-queries` if the live query was not started. */
const warningMessage = (code: Warning, notStarted: Error | null): string =>
  code === 'live_query_unavailable' && notStarted !== null
    ? `Live collection could not be started: ${notStarted.message}. These are historical results.`
    : warningMessages[code]
