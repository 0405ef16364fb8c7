import { type CosineShape, cosineAsOf } from '../../embedding/embedder.ts'
import type {
  ChunkScore,
  DocumentHit,
  EnoughNear,
  NearQuery,
  QueriedIndex,
  ScoreOutcome,
  ScoreRequest,
  SearchFilters,
  TimedOut,
  Unavailable,
  VectorPage,
  VectorRequest,
} from '../search-index.ts'

/** The vector of the query for one embedding profile. */
export interface QueryVector {
  readonly profileId: string
  readonly vector: Float32Array
  readonly cosines: CosineShape
  /** Compared only with documents in these languages; null for all. */
  readonly languages: readonly string[] | null
  /** Used only for documents without any other vector, because its profile is being replaced. */
  readonly isStandIn: boolean
}

/** The cosine of a document in one profile, and its share of the score. */
export interface Nearness {
  readonly profileId: string
  readonly cosine: number
  readonly part: number
}

/** A cosine. If several profiles were searched, the mean of their cosines, with each of them in `nearness`. */
export interface Near {
  readonly score: number
  readonly nearness?: readonly Nearness[]
}
export type NearChunk = ChunkScore & Near
export type NearHit = DocumentHit & NearChunk & { readonly isExtra?: boolean }

export type NearPage = Omit<VectorPage, 'hits'> & { readonly hits: readonly NearHit[] }
export type NearestOutcome = NearPage | TimedOut | Unavailable

export interface NearestLimits extends Pick<VectorRequest, 'topK' | 'enough'> {
  /** The candidates of a normal page. Farther ones are marked as extra. */
  readonly first?: EnoughNear | undefined
}
type Search = Omit<VectorRequest, 'profileId' | 'vector' | keyof NearestLimits>

/** The queries for the index: each model is used for documents in the languages that it knows. */
export const nearQueries = (vectors: readonly QueryVector[], filters: SearchFilters): readonly NearQuery[] =>
  vectors.map(({ profileId, vector, languages }) => ({ profileId, vector, filters: narrowed(filters, languages) }))

/**
 * Finds the nearest documents by all vectors of the query. The score of a document is the mean of its cosines; those of
 * other profiles are converted to the scale of the first. If a profile did not find a document, it scores it
 * afterwards, so a score does not depend on which profile found the document. `vectorsPending` is that of the first
 * profile.
 */
export async function findNearest(
  index: QueriedIndex,
  vectors: readonly QueryVector[],
  search: Search,
  nearestLimits: NearestLimits,
): Promise<NearestOutcome> {
  const untilMs = Date.now() + search.timeoutMs
  const { first: firstNear, ...limits } = nearestLimits
  const pages = await Promise.all(
    nearQueries(vectors, search.filters).map(async (query) => {
      const page = await nearestBy(index, { ...search, ...limits, ...query })
      if (page.outcome !== 'found' || limits.enough === undefined) return page
      const hits = upTo(limits.enough, page.hits)
      return { ...page, hits: firstNear === undefined ? hits : marked(firstNear, hits) }
    }),
  )
  const [first, ...others] = pages
  if (first === undefined || first.outcome !== 'found' || others.length === 0) return first!
  const hits = new Map<string, (NearHit | undefined)[]>()
  for (const [i, page] of pages.entries()) {
    if (page.outcome !== 'found') return page
    for (const hit of page.hits) {
      const known = hits.get(hit.documentId) ?? []
      known[i] = hit
      hits.set(hit.documentId, known)
    }
  }
  const isIncomplete = (known: readonly (NearHit | undefined)[]) => vectors.some((_, i) => known[i] === undefined)
  const incomplete = [...hits].flatMap(([documentId, known]) => (isIncomplete(known) ? documentId : []))
  const timeoutMs = Math.max(1, untilMs - Date.now())
  const near = nearQueries(vectors, search.filters)
  const scored = await scoresOf(index, { ...search, timeoutMs, documentIds: incomplete, query: null, vectors: near })
  if (scored.outcome !== 'found') return scored
  const scores = new Map(scored.scores.map((one) => [one.documentId, one.vectors]))
  const merged = [...hits].flatMap(([documentId, known]): NearHit | [] => {
    const others = scores.get(documentId) ?? []
    const best = meanOf(
      vectors,
      vectors.map((_, i) => known[i] ?? others[i] ?? null),
    )
    if (best === null) return []
    const shown = known.find((hit) => hit?.chunkId === best.chunkId) ?? known.find((hit) => hit)!
    const otherChunks = shown.otherChunks.filter(({ chunkId }) => chunkId !== best.chunkId)
    const isExtra = known.every((hit) => hit === undefined || hit.isExtra === true)
    return { ...shown, ...best, documentId, otherChunks, isExtra }
  })
  merged.sort((a, b) => b.score - a.score || (a.documentId < b.documentId ? -1 : 1))
  return { ...first, hits: merged }
}

/** Requests few chunks first, because they usually come from enough documents. Requests the maximum if they do not. */
async function nearestBy(index: QueriedIndex, request: VectorRequest): ReturnType<QueriedIndex['vector']> {
  const { enough, topK } = request
  if (enough === undefined || enough.chunks === 0 || enough.chunks >= topK) return index.vector(request)
  const untilMs = Date.now() + request.timeoutMs
  const page = await index.vector({ ...request, topK: enough.chunks, enough: undefined })
  if (page.outcome !== 'found' || page.hits.length >= enough.documents) return page
  if (chunksOf(page.hits) < enough.chunks) return page
  return index.vector({ ...request, timeoutMs: Math.max(1, untilMs - Date.now()) })
}

export const chunksOf = (hits: readonly DocumentHit[]): number =>
  hits.reduce((sum, { otherChunks }) => sum + 1 + otherChunks.length, 0)

/**
 * Removes hits that the index could have left out. Among equally near chunks, those of documents with lower ids come
 * first.
 */
function upTo({ chunks, documents }: EnoughNear, hits: readonly DocumentHit[]): readonly DocumentHit[] {
  const nearest = hits
    .flatMap((hit) => [hit, ...hit.otherChunks].map(({ score }) => ({ hit, score })))
    .sort((a, b) => b.score - a.score || (a.hit.documentId < b.hit.documentId ? -1 : 1))
  const kept = new Map<DocumentHit, number>()
  for (const [i, { hit }] of nearest.entries()) {
    if (i >= chunks && kept.size >= documents) break
    kept.set(hit, (kept.get(hit) ?? 0) + 1)
  }
  return Array.from(kept, ([hit, count]) => ({ ...hit, otherChunks: hit.otherChunks.slice(0, count - 1) }))
}

function marked(first: EnoughNear, hits: readonly DocumentHit[]): readonly NearHit[] {
  const near = new Set(upTo(first, hits).map(({ documentId }) => documentId))
  return hits.map((hit) => (near.has(hit.documentId) ? hit : { ...hit, isExtra: true }))
}

/** Skips the index if there are no documents to score. */
export async function scoresOf(index: QueriedIndex, request: ScoreRequest): Promise<ScoreOutcome> {
  return request.documentIds.length === 0 ? { outcome: 'found', scores: [] } : index.score(request)
}

/** The mean of a document's cosines, with the chunk of the first profile that counts. */
export function meanOf(vectors: readonly QueryVector[], chunks: readonly (ChunkScore | null)[]): NearChunk | null {
  const [main] = vectors
  const chunksBy = (isStandIn: boolean) =>
    vectors.flatMap((vector, i) => {
      const chunk = chunks[i] ?? null
      return chunk === null || vector.isStandIn !== isStandIn ? [] : { vector, chunk }
    })
  const lasting = chunksBy(false)
  const counted = lasting.length > 0 ? lasting : chunksBy(true)
  const [first] = counted
  if (first === undefined || main === undefined) return null
  const nearness = counted.map(({ vector: { profileId, cosines: shape }, chunk: { score: cosine } }): Nearness => {
    const part = cosineAsOf(cosine, shape, main.cosines) / counted.length
    return { profileId, cosine, part }
  })
  const score = nearness.reduce((total, { part }) => total + part, 0)
  const { chunkId, versionId } = first.chunk
  return { chunkId, versionId, score, ...(vectors.length > 1 && { nearness }) }
}

function narrowed(filters: SearchFilters, languages: readonly string[] | null): SearchFilters {
  if (languages === null) return filters
  return { ...filters, languages: filters.languages?.filter((one) => languages.includes(one)) ?? languages }
}
