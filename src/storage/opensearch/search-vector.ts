import type { LRUCache } from 'lru-cache'
import {
  type ChunkScore,
  type ChunkVector,
  type DocumentHit,
  type NearQuery,
  pendingOneIn,
  type ScoreRequest,
  type VectorPage,
  type VectorRequest,
} from '../../search/search-index.ts'
import { chunkField, chunksPath, documentChunksMax, vectorField } from './mapping.ts'
import type { Profiles } from './profiles.ts'
import {
  allOf,
  filterQueries,
  inScopeDatasets,
  nested,
  type Query,
  visibleChunks,
  visibleClasses,
} from './scope-query.ts'
import {
  chunksOf,
  type DocumentScores,
  documentSearch,
  type FoundDocument,
  idOf,
  type Search,
  type SearchCalls,
  withBestChunks,
} from './search-calls.ts'
import { type Dimensions, unitVector } from './stored-document.ts'

/** The most vectors that are compared exactly. Among more, the HNSW graph preselects candidates. */
export const comparedMax = 10_000
/** The number of candidates of the graph search (k). A larger number increases recall. */
const keptMin = 2000
const keptPerResult = 10
/** How many of the candidates are compared exactly, per requested chunk. */
const comparedPerResult = 2

interface Counts {
  readonly having: { readonly doc_count: number }
  readonly words: { readonly doc_count: number; readonly having: { readonly doc_count: number } }
}
interface CountedVectors {
  readonly aggregations: { readonly chunks: { readonly visible: Counts } }
}

/**
 * Searches whose last count was too large for exact comparison, by the body of the count request. The next time, the
 * graph search is sent together with the count. If the count is small by then, the graph result is ignored.
 */
export type LargeScopes = LRUCache<string, true>

export async function searchVector(
  calls: SearchCalls,
  request: VectorRequest,
  profiles: Profiles,
  exactMax: number,
  large: LargeScopes,
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
  if (isLarge) large.set(key, true)
  else large.delete(key)
  const { words } = counts
  const vectorsPending = words.doc_count - words.having.doc_count > words.doc_count / pendingOneIn
  if (near === null || counts.having.doc_count === 0 || request.topK <= 0) {
    return { outcome: 'found', hits: [], vectorsPending }
  }
  const among = isLarge ? (candidates ?? (await calls.run(graphSearch(request, near, chunks)))) : null
  const filter = [inScopeDatasets(request.scope), ...(among === null ? [] : [{ terms: { id: among } }])]
  const hits = await calls.run(compare(near, chunks, filter, request.topK, request.topK))
  return { outcome: 'found', hits: nearestChunks(hits, request.topK), vectorsPending }
}

/** Counts chunks with a vector, and chunks without one. Shards cache the answer until they change. */
function countSearch({ scope, profileId }: VectorRequest, visible: Query): Search<Counts> {
  const having = hasVector(profileId)
  const body = {
    size: 0,
    track_total_hits: false,
    query: inScopeDatasets(scope),
    aggs: {
      chunks: {
        nested: { path: chunksPath },
        aggs: {
          visible: {
            filter: visible,
            aggs: {
              having: { filter: having },
              words: { filter: { term: { [chunkField('has_body')]: true } }, aggs: { having: { filter: having } } },
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
  /** Null if the graph was not searched. */
  readonly candidates: readonly string[] | null
}

async function countedAlone(
  calls: SearchCalls,
  request: VectorRequest,
  profiles: Profiles,
  count: Search<Counts>,
): Promise<Counted> {
  const [counts, dimensions] = await Promise.all([
    calls.run(count),
    profiles.known(request.profileId, calls.timeLeftMs),
  ])
  return { counts, near: nearness(request, dimensions), candidates: null }
}

/** Sends the count and the graph search in one exchange. */
async function countedWithGraph(
  calls: SearchCalls,
  request: VectorRequest,
  profiles: Profiles,
  count: Search<Counts>,
  chunks: Query,
): Promise<Counted> {
  const near = nearness(request, await profiles.known(request.profileId, calls.timeLeftMs))
  const graph = near === null || request.topK <= 0 ? null : graphSearch(request, near, chunks)
  const [counts, candidates] = await calls.searchTogether<[Counts, readonly string[]]>([count, graph])
  return { counts: counts!, near, candidates }
}

/** The search for the nearest chunk of each document; null if nothing can be compared. */
export function vectorScores(
  { documentIds, scope }: Pick<ScoreRequest, 'documentIds' | 'scope'>,
  vector: NearQuery,
  dimensions: Pick<Dimensions, 'of'>,
): Search<DocumentScores> | null {
  const visible = bodiesOf({ scope, filters: vector.filters })
  const near = nearness(vector, dimensions)
  if (visible === null || near === null || documentIds.length === 0) return null
  const chunks = allOf(visible, hasVector(vector.profileId))
  const among = [inScopeDatasets(scope), { terms: { id: documentIds } }]
  const { body, read } = compare(near, chunks, among, documentIds.length, 1)
  return {
    body,
    read: (answer) => new Map(read(answer).map(({ documentId, otherChunks, ...best }) => [documentId, best])),
  }
}

/** The chunks whose bodies may be searched; `null` if there are none. */
function bodiesOf({ scope, filters }: Pick<VectorRequest, 'scope' | 'filters'>): Query | null {
  const classes = visibleClasses(scope).filter(({ body }) => body)
  return classes.length === 0 ? null : visibleChunks(classes, filterQueries(filters))
}

const hasVector = (profileId: string): Query => ({ term: { [chunkField('profiles')]: profileId } })

interface Nearness {
  readonly field: string
  readonly vector: readonly number[]
}

/** `null` if nothing can be compared with the vector. */
function nearness({ profileId, vector }: ChunkVector, dimensions: Pick<Dimensions, 'of'>): Nearness | null {
  const unit = unitVector(vector)
  if (unit === null || unit.length !== dimensions.of(profileId)) return null
  return { field: chunkField(vectorField(profileId, unit.length)), vector: unit }
}

/** The search for the ids of the nearest documents by the graph. */
function graphSearch(
  { topK, scope }: VectorRequest,
  { field, vector }: Nearness,
  chunks: Query,
): Search<readonly string[]> {
  const k = Math.min(10_000, Math.max(keptMin, topK * keptPerResult))
  const knn = { [field]: { vector, k, filter: allOf(inScopeDatasets(scope), nested(chunks)) } }
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

/** The cluster returns (1 + cosine) / 2, because its scores cannot be negative. */
const cosineOf = (score: number): number => 2 * score - 1

function compare(
  near: Nearness,
  chunks: Query,
  among: readonly Query[],
  documents: number,
  chunksEach: number,
): Search<readonly DocumentHit[]> {
  const scored = withBestChunks(scoredBy(near, chunks), Math.min(chunksEach, documentChunksMax))
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
    return { documentId: idOf(one), ...best!, otherChunks: others }
  }
  return documentSearch(body, (found) => found.map(hitOf))
}

/** Keeps the `topK` nearest chunks of all hits, grouped by document. */
function nearestChunks(hits: readonly DocumentHit[], topK: number): DocumentHit[] {
  // Documents and their chunks are sorted. Their order decides between equally near chunks.
  const scores = hits.flatMap((hit) => [hit.score, ...hit.otherChunks.map(({ score }) => score)])
  const last = scores.toSorted((a, b) => b - a)[topK - 1] ?? Number.NEGATIVE_INFINITY
  let ties = topK - scores.filter((score) => score > last).length
  const isKept = ({ score }: ChunkScore): boolean => score > last || (score === last && ties-- > 0)
  return hits.flatMap((hit) => (isKept(hit) ? [{ ...hit, otherChunks: hit.otherChunks.filter(isKept) }] : []))
}
