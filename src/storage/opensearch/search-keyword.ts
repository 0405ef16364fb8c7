import { readableFields, type Scope } from '../../access/scope.ts'
import { columnOf, scoreRow } from '../../search/column-permissions.ts'
import type { Facet, ValueCount } from '../../search/facets.ts'
import type {
  DocumentHit,
  KeywordOrder,
  KeywordPage,
  KeywordPosition,
  KeywordRequest,
  ScoreRequest,
} from '../../search/search-index.ts'
import type { KeywordQuery } from '../../text/types.ts'
import { type ExplainedChunk, explainChunk } from './explain-chunk.ts'
import { canMatch, keywordQuery, matchingQuery } from './keyword-query.ts'
import { chunkField, chunksPath, documentChunksMax } from './mapping.ts'
import {
  columnOpened,
  conditionQueries,
  filterQueries,
  inScopeDatasets,
  nested,
  type Query,
  type VisibleClass,
  visibleClasses,
} from './scope-query.ts'
import { readStatistics, ScopeStatistics, type StatisticsAnswer, statisticsRequest } from './scope-statistics.ts'
import {
  chunksOf,
  type DocumentScores,
  documentSearch,
  type FoundDocument,
  idOf,
  languageOf,
  type Search,
  type SearchCalls,
  withBestChunks,
} from './search-calls.ts'
import type { StoredChunk } from './stored-document.ts'

/** The most hits in one response of the cluster. A longer page ends there, and the next one continues. */
const pageMax = 5000
/** The number of facet values that every shard returns. Counts are exact if a shard has no more values. */
const shardValuesMax = 10_000

interface Aggregated {
  readonly aggregations: {
    readonly chunks: { readonly found: { readonly doc_count: number } }
  } & Readonly<Record<string, FacetBuckets & { readonly opened?: FacetBuckets }>>
}
interface FacetBuckets {
  readonly buckets: readonly { readonly key: string; readonly doc_count: number }[]
}

export async function searchKeyword(calls: SearchCalls, request: KeywordRequest): Promise<KeywordPage> {
  const { query, scope, facets, explain = false, order = 'relevance' } = request
  const classes = visibleClasses(scope)
  if (classes.length === 0 || !canMatch(query)) {
    const none = facets === undefined ? {} : { facets: facets.of.map(() => []) }
    return { outcome: 'found', hits: [], totalChunks: 0, next: null, ...none }
  }
  const { includeNonCurrent } = request.filters
  const filters = filterQueries(request.filters)
  const conditions = conditionQueries(request.conditions, classes, includeNonCurrent)
  const statistics = await statisticsOf(calls, request, classes)
  const limit = Math.min(request.limit, pageMax)
  const othersMax = Math.max(0, Math.min(request.otherChunksMax, documentChunksMax - 1))
  const scored = keywordQuery(query, classes, request.filters, statistics)
  // The language is that of the version found, so among several versions it is only known for each hit.
  const needsHits = (facet: Facet) => facet === 'language' && includeNonCurrent
  const needHits = facets?.of.some(needsHits) ?? false
  const columns = needHits ? (['language'] as const) : []
  const chunkFields = { source: explain ? explained : [], columns }
  const byDocument: Query = {
    bool: {
      must: [withBestChunks(scored, othersMax + 1, chunkFields)],
      filter: [inScopeDatasets(scope), ...conditions],
    },
  }
  const countedFacets = (facets?.of ?? []).filter((facet) => !needsHits(facet))
  const search = {
    size: limit <= 0 ? 0 : limit + 1,
    // Otherwise the cluster skips shards whose hits all come before this page, and their counts are missing.
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
  const answer = await calls.documents<Aggregated>(search)
  const languages = needHits ? await countLanguages(calls, byDocument, facets!.limit) : []
  const { found } = answer
  const hits = found.slice(0, limit)
  const last = hits.at(-1)
  return {
    outcome: 'found',
    hits: hits.map((one) => hitOf(one, request, statistics)),
    totalChunks: answer.aggregations.chunks.found.doc_count,
    next: found.length > limit && last !== undefined ? positionOf(last) : null,
    ...(last === undefined ? {} : { statistics: statistics.packed(query) }),
    ...(facets === undefined
      ? {}
      : { facets: facets.of.map((facet) => (needsHits(facet) ? languages : countsOf(answer, facet))) }),
  }
}

/** Searches for the best chunk of each matching document: one for documents with explanations, one for the others. */
export async function keywordScores(
  calls: SearchCalls,
  request: ScoreRequest & { readonly query: KeywordQuery },
): Promise<readonly Search<DocumentScores>[]> {
  const { query, scope, documentIds, explain = [] } = request
  const classes = visibleClasses(scope)
  if (classes.length === 0 || !canMatch(query) || documentIds.length === 0) return []
  const statistics = await statisticsOf(calls, request, classes)
  const isExplained = (documentId: string) => explain.includes(documentId)
  const others = documentIds.filter((documentId) => !isExplained(documentId))
  return [
    scoresOf(others, { ...request, explain: false }, statistics),
    scoresOf(documentIds.filter(isExplained), { ...request, explain: true }, statistics),
  ].flatMap((one) => one ?? [])
}

function scoresOf(
  documentIds: readonly string[],
  request: Pick<KeywordRequest, 'query' | 'scope' | 'filters'> & { readonly explain: boolean },
  statistics: ScopeStatistics,
): Search<DocumentScores> | null {
  if (documentIds.length === 0) return null
  const { query, scope, filters, explain } = request
  const scored = keywordQuery(query, visibleClasses(scope), filters, statistics)
  const body = {
    size: documentIds.length,
    track_total_hits: false,
    query: {
      bool: {
        must: [withBestChunks(scored, 1, { source: explain ? explained : [] })],
        filter: [inScopeDatasets(scope), { terms: { id: documentIds } }],
      },
    },
  }
  const bestOf = (one: FoundDocument) => {
    const { documentId, otherChunks, ...best } = hitOf(one, request, statistics)
    return [documentId, best] as const
  }
  return documentSearch(body, (found) => new Map(found.map(bestOf)))
}

/** The statistics of the previous page if the request has them, otherwise new counts. */
async function statisticsOf(
  calls: SearchCalls,
  { scope, query, statistics }: Pick<KeywordRequest, 'scope' | 'query' | 'statistics'>,
  classes: readonly VisibleClass[],
): Promise<ScopeStatistics> {
  const known = ScopeStatistics.unpack(statistics, query)
  if (known !== null) return known
  const answer = await calls.search<StatisticsAnswer>(statisticsRequest(scope, classes, query))
  return readStatistics(answer, classes, query)
}

/** The fields for an explanation: the texts of a chunk, and the columns that the scope checks. */
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
      const filter = columnOpened(scoreRow, scope, includeNonCurrent)
      if (filter === null) return [{ score: 'desc' }, byId]
      // A document whose score may not be read is sorted as one without a score.
      return [{ [chunkField('score')]: { order: 'desc', nested: { path: chunksPath, filter } } }, byId]
    }
  }
}

/** Documents without a key come last in both directions, because the cluster sorts them as infinity. */
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

/** Counts the languages of the documents' best chunks by reading every hit. */
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
