import { type CosineShape, cosineAsOf } from '../embedding/embedder.ts'
import type {
  AskedIndex,
  ChunkScore,
  DocumentHit,
  EnoughNear,
  NearQuery,
  ScoreRequest,
  SearchFilters,
  TimedOut,
  Unavailable,
  VectorPage,
  VectorRequest,
} from './search-index.ts'

/** The query as one embedding profile has it. */
export interface QueryVector {
  readonly profileId: string
  readonly vector: Float32Array
  readonly cosines: CosineShape
  /** It is asked of documents in these languages alone; null for all. */
  readonly languages: readonly string[] | null
  /** It counts only where no other has a vector: its profile is being replaced. */
  readonly isStandIn: boolean
}

/** What one profile says of a document, and what of its score that makes. */
export interface Nearness {
  readonly profileId: string
  readonly cosine: number
  readonly part: number
}

/** A cosine; where several profiles were asked, with those of which that is the mean. */
export interface Near {
  readonly score: number
  readonly nearness?: readonly Nearness[]
}
export type NearChunk = ChunkScore & Near
export type NearHit = DocumentHit & NearChunk & { readonly isFurther?: boolean }

export type NearestOutcome = (Omit<VectorPage, 'hits'> & { readonly hits: readonly NearHit[] }) | TimedOut | Unavailable

export interface NearScore {
  readonly documentId: string
  readonly vector: NearChunk | null
}
export type NearScoreOutcome =
  | { readonly outcome: 'found'; readonly scores: readonly NearScore[] }
  | TimedOut
  | Unavailable

export interface NearestWanted extends Pick<VectorRequest, 'topK' | 'enough' | 'words'> {
  /** What is farther than this is marked, where it is told. */
  readonly first?: EnoughNear | undefined
}
type Search = Omit<VectorRequest, 'profileId' | 'vector' | keyof NearestWanted>

/** What a search by words asks with, so that its hits tell their cosines. */
export const nearQueries = (vectors: readonly QueryVector[], filters: SearchFilters): readonly NearQuery[] =>
  vectors.map(({ profileId, vector, languages }) => ({ profileId, vector, filters: narrowed(filters, languages) }))

/**
 * The nearest documents by all the query's vectors together. Each document has the mean of its cosines, those of the other
 * profiles in terms of the first one's: what one profile did not find is scored by it afterwards, so the score of a
 * document does not depend on who found it. `vectorsPending` is of the first.
 */
export async function findNearest(
  index: AskedIndex,
  vectors: readonly QueryVector[],
  search: Search,
  wanted: NearestWanted,
): Promise<NearestOutcome> {
  const untilMs = Date.now() + search.timeoutMs
  const { first: within, ...asked } = wanted
  const pages = await Promise.all(
    nearQueries(vectors, search.filters).map(async (query) => {
      const page = await nearestBy(index, { ...search, ...asked, ...query })
      if (page.outcome !== 'found' || wanted.enough === undefined) return page
      const hits = upTo(wanted.enough, page.hits)
      return { ...page, hits: within === undefined ? hits : marked(within, hits) }
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
  const lacking = (i: number) => [...hits].flatMap(([documentId, known]) => (known[i] === undefined ? documentId : []))
  const scored = await scoreAll(index, vectors, lacking, { ...search, timeoutMs: Math.max(1, untilMs - Date.now()) })
  if ('outcome' in scored) return scored
  const merged = [...hits].flatMap(([documentId, known]): NearHit | [] => {
    const chunks = vectors.map((_, i) => known[i] ?? scored[i]!.get(documentId) ?? null)
    const best = together(vectors, chunks)
    if (best === null) return []
    const shown = known.find((hit) => hit?.chunkId === best.chunkId) ?? known.find((hit) => hit)!
    const otherChunks = shown.otherChunks.filter(({ chunkId }) => chunkId !== best.chunkId)
    const isFurther = known.every((hit) => hit === undefined || hit.isFurther === true)
    return { ...shown, ...best, documentId, otherChunks, isFurther }
  })
  merged.sort((a, b) => b.score - a.score || (a.documentId < b.documentId ? -1 : 1))
  return { ...first, hits: merged }
}

/** First by as many chunks alone as are enough: mostly those are of enough documents, and the search threads take a fifth less for half as many. */
async function nearestBy(index: AskedIndex, request: VectorRequest): ReturnType<AskedIndex['vector']> {
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

/** Without what an index need not tell, and may. Of equally near chunks those of documents with lower ids come first. */
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

function marked(within: EnoughNear, hits: readonly DocumentHit[]): readonly NearHit[] {
  const near = new Set(upTo(within, hits).map(({ documentId }) => documentId))
  return hits.map((hit) => (near.has(hit.documentId) ? hit : { ...hit, isFurther: true }))
}

/** What given documents have, as `findNearest` would have given it; null without a visible vector. */
export async function scoreNearest(
  index: AskedIndex,
  vectors: readonly QueryVector[],
  documentIds: readonly string[],
  search: Search,
): Promise<NearScoreOutcome> {
  const scored = await scoreAll(index, vectors, () => documentIds, search)
  if ('outcome' in scored) return scored
  const scoreOf = (documentId: string): NearScore => {
    const chunks = scored.map((scores) => scores.get(documentId) ?? null)
    return { documentId, vector: together(vectors, chunks) }
  }
  return { outcome: 'found', scores: documentIds.map(scoreOf) }
}

async function scoreAll(
  index: AskedIndex,
  vectors: readonly QueryVector[],
  documentIdsOf: (i: number) => readonly string[],
  search: Search,
): Promise<readonly ReadonlyMap<string, ChunkScore | null>[] | TimedOut | Unavailable> {
  const scored: ReadonlyMap<string, ChunkScore | null>[] = []
  const pages = await Promise.all(
    nearQueries(vectors, search.filters).map(({ filters, ...vector }, i) => {
      const request: ScoreRequest = { ...search, filters, documentIds: documentIdsOf(i), query: null, vector }
      return request.documentIds.length === 0 ? { outcome: 'found' as const, scores: [] } : index.score(request)
    }),
  )
  for (const page of pages) {
    if (page.outcome !== 'found') return page
    scored.push(new Map(page.scores.map(({ documentId, vector }) => [documentId, vector])))
  }
  return scored
}

/** The mean of a document's cosines, with the chunk of the first profile that counts. */
function together(vectors: readonly QueryVector[], chunks: readonly (ChunkScore | null)[]): NearChunk | null {
  const near = meanCosine(
    vectors,
    chunks.map((chunk) => chunk?.score ?? null),
  )
  if (near === null) return null
  const { chunkId, versionId } = chunks[near.first]!
  return { chunkId, versionId, score: near.score, ...(near.nearness && { nearness: near.nearness }) }
}

/** The mean of a document's cosines, one or null for each vector, and the number of the first that counts. */
export function meanCosine(
  vectors: readonly QueryVector[],
  cosines: readonly (number | null)[],
): (Near & { readonly first: number }) | null {
  const [main] = vectors
  if (main !== undefined && vectors.length === 1) {
    const [cosine = null] = cosines
    return cosine === null ? null : { score: cosineAsOf(cosine, main.cosines, main.cosines), first: 0 }
  }
  const of = (isStandIn: boolean) =>
    vectors.flatMap((vector, number) => {
      const cosine = cosines[number] ?? null
      return cosine === null || vector.isStandIn !== isStandIn ? [] : { vector, number, cosine }
    })
  const lasting = of(false)
  const counted = lasting.length > 0 ? lasting : of(true)
  const [first] = counted
  if (first === undefined || main === undefined) return null
  const nearness = counted.map(({ vector: { profileId, cosines: shape }, cosine }): Nearness => {
    const part = cosineAsOf(cosine, shape, main.cosines) / counted.length
    return { profileId, cosine, part }
  })
  const score = nearness.reduce((total, { part }) => total + part, 0)
  return { score, first: first.number, nearness }
}

function narrowed(filters: SearchFilters, languages: readonly string[] | null): SearchFilters {
  if (languages === null) return filters
  return { ...filters, languages: filters.languages?.filter((one) => languages.includes(one)) ?? languages }
}
