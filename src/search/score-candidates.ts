import type { Scope } from '../access/scope.ts'
import type { KeywordQuery } from '../text/types.ts'
import { IdMap } from './id-map.ts'
import { searchLimits as limits } from './limits.ts'
import { meanCosine, type Near, type NearHit, type QueryVector, scoreNearest } from './nearest.ts'
import type { AskedIndex, ChunkScore, DocumentHit, TimedOut, ToldColumns, Unavailable } from './search-index.ts'
import type { SearchRequest } from './search-request.ts'
import { causeOf, type Shortfall } from './shortfall.ts'
import { isOneWordEnough, wordEvidence } from './word-evidence.ts'

interface Asked {
  readonly request: Pick<SearchRequest, 'filters' | 'explain'>
  readonly scope: Scope
  readonly query: KeywordQuery
  readonly index: AskedIndex
  /** Of the page of the keyword branch, where it has told. */
  readonly statistics: readonly number[] | undefined
}

/** A document that one branch or both have found, with what both say of it. */
export interface FoundCandidate {
  readonly documentId: string
  /** By words, where one of them matches. */
  readonly best: ChunkScore
  readonly others: readonly ChunkScore[]
  /** BM25 of the best chunk; null where no word matches. */
  readonly keyword: number | null
  /** By its nearest chunk; null where there is no vector. */
  readonly near: Near | null
  /** Where the index tells. */
  readonly told: ToldColumns | undefined
  /** Neither branch has it among its first: for a page that is longer than those. */
  readonly isFurther: boolean
}

export interface ScoredCandidates {
  readonly candidates: readonly FoundCandidate[]
  /** How much the words of the query are worth, 0 to 1. */
  readonly evidence: number
}

export type KeywordHit = DocumentHit & Pick<NearHit, 'isFurther'>

/** A document as each branch has it. */
interface Hits {
  readonly documentId: string
  readonly keyword: KeywordHit | null
  vector: NearHit | null
}

/** Both branches' candidates with both scores: what one did not find, and the other does not tell, is scored by it afterwards. */
export async function scoreCandidates(
  { request, scope, query, index, statistics }: Asked,
  keywordHits: readonly KeywordHit[],
  vectorHits: readonly NearHit[],
  vectors: readonly QueryVector[],
  shortfalls: Shortfall[],
): Promise<ScoredCandidates> {
  const hits = hitsOfBoth(keywordHits, vectorHits)
  const search = { scope, filters: request.filters, timeoutMs: limits.keywordWaitMs }
  const byWords = { ...search, query, vector: null, statistics }
  const lack = (what: Shortfall['what'], outcome: TimedOut | Unavailable): void => {
    if (shortfalls.some((known) => known.what === what)) return
    shortfalls.push({ what, cause: causeOf(outcome, limits.keywordWaitMs) })
  }
  /** What one branch would give to the documents that only the other one found, as far as that does not tell. */
  const lacking = (tells: (hit: Hits) => boolean) =>
    hits.filter((hit) => !tells(hit)).map(({ documentId }) => documentId)
  const completedByWords = async (): Promise<ReadonlyMap<string, ChunkScore | null>> => {
    const asked = lacking(({ keyword, vector }) => keyword !== null || vector?.words !== undefined)
    if (asked.length === 0) return new Map()
    const scored = await index.score({ ...byWords, explain: request.explain, documentIds: asked })
    if (scored.outcome === 'found') return new Map(scored.scores.map((one) => [one.documentId, one.keyword]))
    lack('keyword_search_timed_out', scored)
    return new Map()
  }
  const completedByVectors = async (): Promise<ReadonlyMap<string, Near | null>> => {
    if (vectors.length === 0) return new Map()
    const asked = lacking(({ keyword, vector }) => vector !== null || keyword?.cosines !== undefined)
    if (asked.length === 0) return new Map()
    const scored = await scoreNearest(index, vectors, asked, search)
    if (scored.outcome === 'found') return new Map(scored.scores.map((one) => [one.documentId, one.vector]))
    lack('vector_search_unavailable', scored)
    return new Map()
  }
  /** The best by words, with what each word of the query adds to its score where that matters. */
  const bestByWords = async (): Promise<Pick<ChunkScore, 'parts'> | null> => {
    const [best = null] = keywordHits
    if (best === null || best.parts !== undefined || isOneWordEnough(query)) return best
    const scored = await index.score({ ...byWords, explain: true, documentIds: [best.documentId] })
    if (scored.outcome === 'found') return scored.scores[0]?.keyword ?? best
    lack('keyword_search_timed_out', scored)
    return best
  }
  const [keywordScores, vectorScores, best] = await Promise.all([
    completedByWords(),
    completedByVectors(),
    bestByWords(),
  ])
  // What was demanded or excluded by a sign is so for the vector branch too.
  const isMarked = query.clauses.some(({ kind }) => kind !== 'any')
  const candidates: FoundCandidate[] = []
  for (const hit of hits) {
    const { documentId } = hit
    const found = hit.keyword ?? hit.vector?.words ?? keywordScores.get(documentId) ?? null
    const near = hit.vector ?? meanCosine(vectors, hit.keyword?.cosines ?? []) ?? vectorScores.get(documentId) ?? null
    const best = found ?? hit.vector
    const keyword = found?.score ?? null
    if (best === null || (isMarked && keyword === null)) continue
    const others = (hit.keyword ?? hit.vector)?.otherChunks.filter(({ chunkId }) => chunkId !== best.chunkId) ?? []
    const told = toldBy(hit.keyword ?? hit.vector)
    candidates.push({ documentId, best, others, keyword, near, told, isFurther: isFurther(hit) })
  }
  return { candidates, evidence: wordEvidence(query, best) }
}

const isFurther = ({ keyword, vector }: Hits): boolean =>
  (keyword === null || keyword.isFurther === true) && (vector === null || vector.isFurther === true)

const toldBy = (hit: DocumentHit | null): ToldColumns | undefined =>
  hit?.titleLength === undefined ? undefined : (hit as ToldColumns)

/** Those by words first; each document once. */
function hitsOfBoth(keywordHits: readonly KeywordHit[], vectorHits: readonly NearHit[]): readonly Hits[] {
  const hits: Hits[] = keywordHits.map((hit) => ({ documentId: hit.documentId, keyword: hit, vector: null }))
  const byWords = new IdMap<Hits>()
  for (const hit of hits) byWords.add(hit.documentId, hit)
  for (const hit of vectorHits) {
    const known = byWords.get(hit.documentId)
    if (known !== undefined) known.vector = hit
    else hits.push({ documentId: hit.documentId, keyword: null, vector: hit })
  }
  return hits
}
