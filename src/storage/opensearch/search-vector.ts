import { isUnavailability } from '../../errors.ts'
import {
  type ChunkScore,
  type ChunkVector,
  type DocumentHit,
  pendingOneIn,
  type ScoreRequest,
  type VectorPage,
  type VectorRequest,
} from '../../search/search-index.ts'
import type { CountedQueries } from './counted-queries.ts'
import type { LargeScopes } from './large-scopes.ts'
import { chunksPath, documentChunksMax, ofChunk, vectorField } from './mapping.ts'
import type { Profiles } from './profiles.ts'
import { allOf, filterQueries, nested, ofDatasets, type Query, visibleChunks, visibleClasses } from './scope-query.ts'
import {
  chunksOf,
  documentSearch,
  type FoundDocument,
  idOf,
  type Search,
  type SearchCalls,
  toldColumns,
  toldOf,
  withBestChunks,
} from './search-calls.ts'
import { keywordScores } from './search-keyword.ts'
import { type Dimensions, unitVector } from './stored-document.ts'

/** So many vectors are compared one by one; of more, the graph chooses which. */
export const comparedMax = 10_000
/**
 * Documents that the graph keeps on its way. Recall@20 of random directions among 100,000 vectors was .94 with 1,000 of them,
 * .98 with 1,500 and .99 with 2,000.
 */
const keptMin = 2000
const keptPerResult = 10
/** Of them, the nearest by its own count: their chunks are compared one by one. No others can have the nearest chunks. */
const comparedPerResult = 2

interface Counts {
  readonly having: { readonly doc_count: number }
  readonly words: { readonly doc_count: number; readonly having: { readonly doc_count: number } }
}
interface CountedVectors {
  readonly aggregations: { readonly chunks: { readonly visible: Counts } }
}

export async function searchVector(
  calls: SearchCalls,
  request: VectorRequest,
  profiles: Profiles,
  exactMax: number,
  large: LargeScopes,
  counted: CountedQueries,
): Promise<VectorPage> {
  const visible = bodiesOf(request)
  if (visible === null) return { outcome: 'found', hits: [], vectorsPending: false }
  const chunks = allOf(visible, hasVector(request.profileId))
  const count = countSearch(request, visible)
  const key = JSON.stringify(count.body)
  const { counts, near, candidates } = large.has(key)
    ? await countedWithGraph(calls, request, profiles, count, chunks)
    : await countedAlone(calls, request, profiles, count)
  const isLarge = counts.having.doc_count > exactMax
  large.note(key, isLarge)
  const { words } = counts
  const vectorsPending = words.doc_count - words.having.doc_count > words.doc_count / pendingOneIn
  if (near === null || counts.having.doc_count === 0 || request.topK <= 0) {
    return { outcome: 'found', hits: [], vectorsPending }
  }
  const among = isLarge ? (candidates ?? (await calls.ask(graphSearch(request, near, chunks)))) : null
  // Of the version that is found: where others than current ones are searched, it may not be the one that is shown.
  const doTell = request.words !== undefined && !request.filters.includeNonCurrent
  const filter = [ofDatasets(request.scope), ...(among === null ? [] : [{ terms: { id: among } }])]
  const comparison = compare(near, chunks, filter, request.topK, request.topK, doTell)
  const { hits, words: told } = await withWords(calls, comparison, among, (ids) => wordsOf(request, ids, counted))
  return { outcome: 'found', hits: nearestChunks(hits, request.topK, told), vectorsPending }
}

type WordScores = ReadonlyMap<string, ChunkScore>

/** What the words of the other branch of a hybrid search give to documents; null where that is not asked, or not known yet. */
function wordsOf(
  { words, scope }: VectorRequest,
  documentIds: readonly string[],
  counted: CountedQueries,
): Search<WordScores> | null {
  const statistics = words && counted.of(words.query, scope)
  return statistics && documentIds.length > 0 ? keywordScores({ ...words, scope, documentIds }, statistics) : null
}

/**
 * What is nearest, with what words give to it: at once where it is known among which documents it is, else afterwards, while
 * the other branch is still under way. Where that fails, hits do not tell it, and are asked for it.
 */
async function withWords(
  calls: SearchCalls,
  comparison: Search<readonly DocumentHit[]>,
  among: readonly string[] | null,
  wordsOf: (documentIds: readonly string[]) => Search<WordScores> | null,
): Promise<{ readonly hits: readonly DocumentHit[]; readonly words: WordScores | null }> {
  const beside = among && wordsOf(among)
  if (beside !== null) {
    const together = calls.askTogether<[readonly DocumentHit[], WordScores]>([comparison, beside])
    const [hits, words] = (await orNull(together)) ?? [null, null]
    return { hits: hits ?? (await calls.ask(comparison)), words }
  }
  const hits = await calls.ask(comparison)
  const afterwards = among === null ? wordsOf(hits.map(({ documentId }) => documentId)) : null
  return { hits, words: afterwards && (await orNull(calls.ask(afterwards))) }
}

const orNull = <T>(asked: Promise<T>): Promise<T | null> =>
  asked.catch((error) => {
    if (!isUnavailability(error)) throw error
    return null
  })

/** How many chunks can be compared, and how many lack a vector. Shards keep the answer until something changes there. */
function countSearch({ scope, profileId }: VectorRequest, visible: Query): Search<Counts> {
  const having = hasVector(profileId)
  const body = {
    size: 0,
    track_total_hits: false,
    query: ofDatasets(scope),
    aggs: {
      chunks: {
        nested: { path: chunksPath },
        aggs: {
          visible: {
            filter: visible,
            aggs: {
              having: { filter: having },
              words: { filter: { term: { [ofChunk('has_body')]: true } }, aggs: { having: { filter: having } } },
            },
          },
        },
      },
    },
  }
  return { body, read: ({ aggregations }: CountedVectors) => aggregations.chunks.visible }
}

interface Counted {
  readonly counts: Counts
  readonly near: Nearness | null
  /** Null where the graph was not asked. */
  readonly candidates: readonly string[] | null
}

async function countedAlone(
  calls: SearchCalls,
  request: VectorRequest,
  profiles: Profiles,
  count: Search<Counts>,
): Promise<Counted> {
  const [counts, dimensions] = await Promise.all([calls.ask(count), profiles.known(request.profileId)])
  return { counts, near: nearness(request, dimensions), candidates: null }
}

/** By one exchange: where the graph was asked the last time, it is so again, and the count still decides. */
async function countedWithGraph(
  calls: SearchCalls,
  request: VectorRequest,
  profiles: Profiles,
  count: Search<Counts>,
  chunks: Query,
): Promise<Counted> {
  const near = nearness(request, await profiles.known(request.profileId))
  const graph = near === null || request.topK <= 0 ? null : graphSearch(request, near, chunks)
  const [counts, candidates] = await calls.askTogether<[Counts, readonly string[]]>([count, graph])
  return { counts: counts!, near, candidates }
}

/** The nearest chunk of each of the documents that have one. */
export async function scoreVector(
  calls: SearchCalls,
  request: ScoreRequest & { readonly vector: ChunkVector },
  dimensions: Pick<Dimensions, 'of'>,
): Promise<ReadonlyMap<string, ChunkScore>> {
  const visible = bodiesOf(request)
  const near = nearness(request.vector, dimensions)
  if (visible === null || near === null || request.documentIds.length === 0) return new Map()
  const chunks = allOf(visible, hasVector(request.vector.profileId))
  const among = [ofDatasets(request.scope), { terms: { id: request.documentIds } }]
  const hits = await calls.ask(compare(near, chunks, among, request.documentIds.length, 1))
  return new Map(hits.map(({ documentId, otherChunks, ...best }) => [documentId, best]))
}

/**
 * The cosine of the nearest chunk of each of the documents that have one, to be asked for; null where none can have one. Which
 * chunk that is takes twice the time.
 */
export function cosines(
  request: Omit<ScoreRequest, 'vector' | 'query'> & { readonly vector: ChunkVector },
  dimensions: Pick<Dimensions, 'of'>,
): Search<ReadonlyMap<string, number>> | null {
  const visible = bodiesOf(request)
  const near = nearness(request.vector, dimensions)
  if (visible === null || near === null || request.documentIds.length === 0) return null
  const chunks = allOf(visible, hasVector(request.vector.profileId))
  const body = {
    size: request.documentIds.length,
    track_total_hits: false,
    query: {
      bool: {
        must: [{ nested: { path: chunksPath, score_mode: 'max', query: scoredBy(near, chunks) } }],
        filter: [ofDatasets(request.scope), { terms: { id: request.documentIds } }],
      },
    },
    // By scores alone the cluster sorts anyway, and does not tell them so.
    sort: [{ _score: 'desc' }, { id: 'asc' }],
  }
  return documentSearch(body, (found) => new Map(found.map((one) => [idOf(one), cosineOf(one.sort[0] as number)])))
}

/** The chunks whose vectors may be compared; `null` where there are none. */
function bodiesOf({ scope, filters }: Pick<VectorRequest, 'scope' | 'filters'>): Query | null {
  const classes = visibleClasses(scope).filter(({ body }) => body)
  return classes.length === 0 ? null : visibleChunks(classes, filterQueries(filters))
}

const hasVector = (profileId: string): Query => ({ term: { [ofChunk('profiles')]: profileId } })

interface Nearness {
  readonly field: string
  readonly vector: readonly number[]
}

/** `null` where nothing can be compared with it. */
function nearness({ profileId, vector }: ChunkVector, dimensions: Pick<Dimensions, 'of'>): Nearness | null {
  const unit = unitVector(vector)
  if (unit === null || unit.length !== dimensions.of(profileId)) return null
  return { field: ofChunk(vectorField(profileId, unit.length)), vector: unit }
}

/** Ids of the documents that are nearest by what the graph knows. */
function graphSearch(
  { topK, scope }: VectorRequest,
  { field, vector }: Nearness,
  chunks: Query,
): Search<readonly string[]> {
  const k = Math.min(10_000, Math.max(keptMin, topK * keptPerResult))
  const knn = { [field]: { vector, k, filter: allOf(ofDatasets(scope), nested(chunks)) } }
  const body = {
    size: Math.min(k, topK * comparedPerResult),
    track_total_hits: false,
    query: { nested: { path: chunksPath, score_mode: 'max', query: { knn } } },
  }
  return documentSearch(body, (found) => found.map(idOf))
}

const scoredBy = ({ field, vector }: Nearness, chunks: Query): Query => ({
  script_score: {
    query: chunks,
    script: {
      lang: 'knn',
      source: 'knn_score',
      params: { field, query_value: vector, space_type: 'cosinesimil' },
    },
  },
})

/** The cluster has no scores below 0: it says (1 + cosine) / 2. */
const cosineOf = (score: number): number => 2 * score - 1

function compare(
  near: Nearness,
  chunks: Query,
  among: readonly Query[],
  documents: number,
  chunksEach: number,
  doTell = false,
): Search<readonly DocumentHit[]> {
  const columns = doTell ? toldColumns.ofChunks : []
  const scored = withBestChunks(scoredBy(near, chunks), Math.min(chunksEach, documentChunksMax), { columns })
  const body = {
    size: Math.min(documents, 10_000),
    track_total_hits: false,
    query: { bool: { must: [scored], filter: among } },
    sort: [{ _score: 'desc' }, { id: 'asc' }],
  }
  const hitOf = (one: FoundDocument): DocumentHit => {
    const [best, ...others] = chunksOf(one).map(({ chunkId, versionId, score }) => ({
      chunkId,
      versionId,
      score: cosineOf(score),
    }))
    return { documentId: idOf(one), ...best!, otherChunks: others, ...(doTell && toldOf(one)) }
  }
  return documentSearch(body, (found) => found.map(hitOf), doTell ? toldColumns.ofDocuments : undefined)
}

/** The nearest chunks of all, put together by document again, with what words give to each where that is told. */
function nearestChunks(hits: readonly DocumentHit[], topK: number, told: WordScores | null): DocumentHit[] {
  // Documents are in their order, and so are the chunks of each: what is as near as the last one goes by that.
  const scores = hits.flatMap((hit) => [hit.score, ...hit.otherChunks.map(({ score }) => score)])
  const last = scores.toSorted((a, b) => b - a)[topK - 1] ?? Number.NEGATIVE_INFINITY
  let ties = topK - scores.filter((score) => score > last).length
  const isKept = ({ score }: ChunkScore): boolean => score > last || (score === last && ties-- > 0)
  const telling = (hit: DocumentHit) => told && { words: told.get(hit.documentId) ?? null }
  return hits.flatMap((hit) =>
    isKept(hit) ? [{ ...hit, otherChunks: hit.otherChunks.filter(isKept), ...telling(hit) }] : [],
  )
}
