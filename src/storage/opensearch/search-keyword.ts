import { readableFields, type Scope } from '../../access/scope.ts'
import { columnOf } from '../../search/column-permissions.ts'
import type { Facet, ValueCount } from '../../search/facets.ts'
import type {
  ChunkScore,
  DocumentHit,
  KeywordOrder,
  KeywordPage,
  KeywordPosition,
  KeywordRequest,
  ScoreRequest,
} from '../../search/search-index.ts'
import type { KeywordQuery } from '../../text/types.ts'
import type { CountedQueries } from './counted-queries.ts'
import { type ExplainedChunk, explainChunk } from './explain-chunk.ts'
import { asksForSomething, keywordQuery, matchingQuery } from './keyword-query.ts'
import { chunksPath, documentChunksMax, ofChunk } from './mapping.ts'
import {
  columnOpened,
  conditionQueries,
  filterQueries,
  nested,
  ofDatasets,
  type Query,
  type VisibleClass,
  visibleClasses,
} from './scope-query.ts'
import { readStatistics, ScopeStatistics, type StatisticsAnswer, statisticsRequest } from './scope-statistics.ts'
import {
  chunksOf,
  documentSearch,
  type FoundDocument,
  idOf,
  languageOf,
  type Search,
  type SearchCalls,
  toldColumns,
  toldOf,
  withBestChunks,
} from './search-calls.ts'
import type { StoredChunk } from './stored-document.ts'

/** What the cluster gives in one answer; a longer page ends there, and another goes on from it. */
const pageMax = 5000
/** Values of a facet that every shard tells; the counts of those are exact where there are no more. */
const shardValuesMax = 10_000

interface Aggregated {
  readonly aggregations: {
    readonly chunks: { readonly found: { readonly doc_count: number } }
  } & Readonly<Record<string, FacetBuckets & { readonly opened?: FacetBuckets }>>
}
interface FacetBuckets {
  readonly buckets: readonly { readonly key: string; readonly doc_count: number }[]
}

export async function searchKeyword(
  calls: SearchCalls,
  request: KeywordRequest,
  counted: CountedQueries,
): Promise<KeywordPage> {
  const { query, scope, facets, explain = false, order = 'relevance' } = request
  const classes = visibleClasses(scope)
  if (classes.length === 0 || !asksForSomething(query)) {
    const none = facets === undefined ? {} : { facets: facets.of.map(() => []) }
    return { outcome: 'found', hits: [], totalChunks: 0, next: null, ...none }
  }
  const { includeNonCurrent } = request.filters
  const filters = filterQueries(request.filters)
  const conditions = conditionQueries(request.conditions, classes, includeNonCurrent)
  const statistics = await statisticsOf(calls, request, classes)
  counted.note(query, scope, statistics)
  const limit = Math.min(request.limit, pageMax)
  const othersMax = Math.max(0, Math.min(request.otherChunksMax, documentChunksMax - 1))
  const scored = keywordQuery(query, classes, request.filters, statistics)
  // The language counts that is found; of current versions there is one in a document.
  const walked = (facet: Facet) => facet === 'language' && includeNonCurrent
  const areWalked = facets?.of.some(walked) ?? false
  // Of the version that is found: where others than current ones are searched, it may not be the one that is shown.
  const doTell = request.near !== undefined && !includeNonCurrent
  const columns = doTell ? toldColumns.ofChunks : areWalked ? (['language'] as const) : []
  const told = { source: explain ? explained : [], columns }
  const byDocument: Query = {
    bool: {
      must: [withBestChunks(scored, othersMax + 1, told)],
      filter: [ofDatasets(scope), ...conditions],
    },
  }
  const countedFacets = (facets?.of ?? []).filter((facet) => !walked(facet))
  const asked = {
    size: limit <= 0 ? 0 : limit + 1,
    // Without it, shards in which all come before this page are left out, and what is counted there with them.
    track_total_hits: true,
    query: byDocument,
    sort: sortBy(order, scope, includeNonCurrent),
    ...(request.after === null ? {} : { search_after: searchAfter(order, request.after) }),
    aggs: {
      chunks: { nested: { path: chunksPath }, aggs: { found: { filter: matchingQuery(query, classes, filters) } } },
      ...Object.fromEntries(
        countedFacets.map((facet) => [
          facetKey(facet),
          facetAggregation(facet, facets!.limit, scope, includeNonCurrent),
        ]),
      ),
    },
  }
  const answer = await calls.documents<Aggregated>(asked, doTell ? toldColumns.ofDocuments : undefined)
  const languages = areWalked ? await countLanguages(calls, byDocument, facets!.limit) : []
  const { found } = answer
  const hits = found.slice(0, limit)
  const last = hits.at(-1)
  return {
    outcome: 'found',
    hits: hits.map((one) => ({ ...hitOf(one, request, statistics), ...(doTell && toldOf(one)) })),
    totalChunks: answer.aggregations.chunks.found.doc_count,
    next: found.length > limit && last !== undefined ? positionOf(last) : null,
    ...(last === undefined ? {} : { statistics: statistics.handedOn(query) }),
    ...(facets === undefined
      ? {}
      : { facets: facets.of.map((facet) => (walked(facet) ? languages : countsOf(answer, facet))) }),
  }
}

/** The best chunk of each of the documents that match. */
export async function scoreKeyword(
  calls: SearchCalls,
  request: ScoreRequest & { readonly query: KeywordQuery },
): Promise<ReadonlyMap<string, ChunkScore>> {
  const { query, scope, documentIds } = request
  const classes = visibleClasses(scope)
  if (classes.length === 0 || !asksForSomething(query) || documentIds.length === 0) return new Map()
  const statistics = await statisticsOf(calls, { ...request, query }, classes)
  return calls.ask(keywordScores(request, statistics))
}

/** The same, to be asked for, of a query that something can match. */
export function keywordScores(
  request: Pick<ScoreRequest, 'scope' | 'filters' | 'documentIds' | 'explain'> & { readonly query: KeywordQuery },
  statistics: ScopeStatistics,
): Search<ReadonlyMap<string, ChunkScore>> {
  const { query, scope, documentIds, explain = false } = request
  const scored = keywordQuery(query, visibleClasses(scope), request.filters, statistics)
  const body = {
    size: documentIds.length,
    track_total_hits: false,
    query: {
      bool: {
        must: [withBestChunks(scored, 1, { source: explain ? explained : [] })],
        filter: [ofDatasets(scope), { terms: { id: documentIds } }],
      },
    },
  }
  const bestOf = (one: FoundDocument) => {
    const { documentId, otherChunks, ...best } = hitOf(one, request, statistics)
    return [documentId, best] as const
  }
  return documentSearch(body, (found) => new Map(found.map(bestOf)))
}

/** Those that were handed on, or else counted. */
async function statisticsOf(
  calls: SearchCalls,
  { scope, query, statistics }: Pick<KeywordRequest, 'scope' | 'query' | 'statistics'>,
  classes: readonly VisibleClass[],
): Promise<ScopeStatistics> {
  const handed = ScopeStatistics.from(statistics, query)
  if (handed !== null) return handed
  const answer = await calls.search<StatisticsAnswer>(statisticsRequest(scope, classes, query))
  return readStatistics(answer, classes, query)
}

/** What a score is worked out again from: the texts of a chunk, and who may see which of them. */
const explained = [
  ...['title', 'title_length', 'body', 'body_length'],
  ...['dataset', 'platform', 'language', 'region', 'published_at'],
]
type ExplainedSource = ExplainedChunk &
  Pick<StoredChunk, 'dataset' | 'platform' | 'language' | 'region' | 'published_at'>

function hitOf(
  found: FoundDocument,
  { query, scope, explain = false }: Pick<KeywordRequest, 'query' | 'scope' | 'explain'>,
  statistics: ScopeStatistics,
): DocumentHit {
  const [{ source, ...best }, ...others] = chunksOf(found) as [FoundScore, ...FoundScore[]]
  return {
    documentId: idOf(found),
    ...best,
    ...(explain ? { parts: partsOf(source as ExplainedSource, query, scope, statistics, best.score) } : {}),
    otherChunks: others.map(({ source: _, ...other }) => other),
  }
}
type FoundScore = ReturnType<typeof chunksOf>[number]

function partsOf(
  chunk: ExplainedSource,
  query: KeywordQuery,
  scope: Scope,
  statistics: ScopeStatistics,
  score: number,
): number[] {
  const { dataset, platform, language, region, published_at } = chunk
  const fields = readableFields(scope, { datasetId: dataset, platform, language, region, publishedAt: published_at })
  const searched = { title: fields?.has('title') ?? false, body: fields?.has('body') ?? false }
  return explainChunk(query, chunk, searched, statistics, score)
}

function sortBy(order: KeywordOrder, scope: Scope, includeNonCurrent: boolean): object[] {
  const byId = { id: 'asc' }
  switch (order) {
    case 'relevance':
      return [{ _score: 'desc' }, byId]
    case 'published_at':
      return [{ published_at: 'asc' }, byId]
    case '-published_at':
      return [{ published_at: 'desc' }, byId]
    case '-score': {
      const filter = columnOpened('score', scope, includeNonCurrent)
      if (filter === null) return [{ score: 'desc' }, byId]
      // Of a document whose score may not be read it is not told: it counts as one that has none.
      return [{ [ofChunk('score')]: { order: 'desc', nested: { path: chunksPath, filter } } }, byId]
    }
  }
}

/** Documents without a key are last, whichever way the others go: infinity is what the cluster takes them for. */
function searchAfter(order: KeywordOrder, { key, documentId }: KeywordPosition): (number | string)[] {
  if (order === 'relevance') {
    const score = key === null || Number.isNaN(key) ? -1 : Math.max(-1, Math.min(key, floatMax))
    return [score, documentId]
  }
  const last = order === 'published_at' ? 'Infinity' : '-Infinity'
  return [key === null || !Number.isFinite(key) ? last : key, documentId]
}
const floatMax = 3.4e38

function positionOf({ sort, ...found }: FoundDocument): KeywordPosition {
  const [key] = sort
  return { key: typeof key === 'number' ? key : null, documentId: idOf({ ...found, sort }) }
}

const facetKey = (facet: Facet): string => `facet ${typeof facet === 'string' ? facet : facet.published_at}`

const facetFieldOf = (facet: Facet): string => (typeof facet === 'string' ? facet : facet.published_at)

function facetAggregation(facet: Facet, limit: number, scope: Scope, includeNonCurrent: boolean): object {
  const terms = {
    field: facetFieldOf(facet),
    size: Math.max(1, Math.min(limit, shardValuesMax)),
    shard_size: shardValuesMax,
    order: [{ _count: 'desc' }, { _key: 'asc' }],
  }
  const column = columnOf(facet)
  const opened = column && columnOpened(column, scope, includeNonCurrent)
  return opened === null ? { terms } : { filter: nested(opened), aggs: { opened: { terms } } }
}

function countsOf({ aggregations }: Aggregated, facet: Facet): ValueCount[] {
  const found = aggregations[facetKey(facet)]!
  return (found.opened ?? found).buckets.map(({ key, doc_count }) => ({ value: key, count: doc_count }))
}

/** By the version of the best chunk of every document that is found: only who looks at each of them knows. */
async function countLanguages(calls: SearchCalls, query: Query, limit: number): Promise<ValueCount[]> {
  const counts = new Map<string, number>()
  let after: readonly (number | string)[] | null = null
  for (;;) {
    const { found: page }: { found: readonly FoundDocument[] } = await calls.documents({
      size: pageMax,
      track_total_hits: false,
      query,
      sort: [{ id: 'asc' }],
      ...(after === null ? {} : { search_after: after }),
    })
    for (const found of page) {
      const language = languageOf(found)
      if (language !== undefined) counts.set(language, (counts.get(language) ?? 0) + 1)
    }
    if (page.length < pageMax) break
    after = page.at(-1)!.sort
  }
  return Array.from(counts, ([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, limit)
}
