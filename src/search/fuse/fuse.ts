import type { Scope } from '../../access/scope.ts'
import type { KeywordQuery } from '../../text/types.ts'
import { causeOf, type Degradation, type Degradations } from '../degradations.ts'
import { IdMap } from '../id-map.ts'
import { searchLimits as limits } from '../limits.ts'
import type { SearchRequest } from '../parse/search-request.ts'
import { meanOf, type Near, type NearHit, nearQueries, type QueryVector, scoresOf } from '../retrieve/nearest.ts'
import type { KeywordHit, Retrieved } from '../retrieve/retrieve.ts'
import type { RunningSearch } from '../running-search.ts'
import type { ChunkScore, DocumentHit, DocumentScores, QueriedIndex, ScoreOutcome } from '../search-index.ts'
import { isOneWordEnough, wordEvidence } from './word-evidence.ts'

interface Scoring {
  readonly request: Pick<SearchRequest, 'filters' | 'explain'>
  readonly scope: Scope
  readonly query: KeywordQuery
  readonly index: QueriedIndex
  /** A deadline in terms of `Date.now()`. */
  readonly until: number
  /** The statistics of the keyword page, if it returned them. */
  readonly statistics: readonly number[] | undefined
}

/** A document that one or both branches found, with the results of both. */
export interface FoundCandidate {
  readonly documentId: string
  /** The best chunk by keywords if a word matches, otherwise by vector. */
  readonly best: ChunkScore
  readonly others: readonly ChunkScore[]
  /** BM25 of the best chunk; null if no word matches. */
  readonly keyword: number | null
  /** The nearest chunk; null if the document has no vector. */
  readonly near: Near | null
  /** Neither branch has the document among its first candidates. It was added for a long page. */
  readonly isExtra: boolean
}

export interface ScoredCandidates {
  readonly candidates: readonly FoundCandidate[]
  /** How much the words of the query are worth, 0 to 1. */
  readonly evidence: number
}

/** A document as each branch found it. */
interface Hits {
  readonly documentId: string
  readonly keyword: KeywordHit | null
  vector: NearHit | null
}

/**
 * The third step: joins the candidates of both branches into one list with both scores. In keyword and vector mode the
 * scores of the one branch are kept. The fourth step adds the weights of the columns that only the store has
 * (`rerank/rank-candidates.ts`).
 */
export async function fuse(running: RunningSearch, { query, words, near }: Retrieved): Promise<ScoredCandidates> {
  const { request, scope, index, vectors, deadlines, caller, degradations } = running
  if (request.mode !== 'hybrid') {
    const candidates = words?.hits.map(byWordsAlone) ?? near?.hits.map(byVectorAlone) ?? []
    return { candidates, evidence: 1 }
  }
  const scoring = { request, scope, query, index, statistics: words?.statistics, until: deadlines.words }
  const usedVectors = near === null ? [] : vectors.found
  const scored = await scoreCandidates(scoring, words?.hits ?? [], near?.hits ?? [], usedVectors, degradations)
  caller.signal.throwIfAborted()
  return scored
}

const byWordsAlone = (hit: DocumentHit): FoundCandidate => ({ ...alone(hit), keyword: hit.score, near: null })
const byVectorAlone = (hit: NearHit): FoundCandidate => ({ ...alone(hit), keyword: null, near: hit })
const alone = (hit: DocumentHit) => ({
  documentId: hit.documentId,
  best: hit,
  others: hit.otherChunks,
  isExtra: false,
})

/**
 * The candidates of both branches with both scores. Each branch scores the documents that only the other one found, in
 * two parallel calls. A single call would score all of them by words and by vectors, one after the other. The keyword
 * call also returns the parts of the best result, if they are needed to judge how much the words are worth.
 */
export async function scoreCandidates(
  { request, scope, query, index, until, statistics }: Scoring,
  keywordHits: readonly KeywordHit[],
  vectorHits: readonly NearHit[],
  vectors: readonly QueryVector[],
  degradations: Degradations,
): Promise<ScoredCandidates> {
  const hits = hitsOfBoth(keywordHits, vectorHits)
  const [bestByWords = null] = keywordHits
  const needsParts = bestByWords !== null && bestByWords.parts === undefined && !isOneWordEnough(query)
  const unexplained = needsParts ? [bestByWords.documentId] : []
  const withoutWords = [...unexplained, ...idsOf(hits.filter(({ keyword }) => keyword === null))]
  const withoutVector = vectors.length === 0 ? [] : idsOf(hits.filter(({ vector }) => vector === null))
  const { filters } = request
  const running = { scope, filters, timeoutMs: Math.max(1, until - Date.now()) }
  const explain = request.explain ? withoutWords : unexplained
  const [byWords, byVector] = await Promise.all([
    scoresOf(index, { ...running, documentIds: withoutWords, query, vectors: [], explain, statistics }),
    scoresOf(index, { ...running, documentIds: withoutVector, query: null, vectors: nearQueries(vectors, filters) }),
  ])
  const scoresBy = (outcome: ScoreOutcome, code: Degradation['code']): IdMap<DocumentScores> => {
    const scores = new IdMap<DocumentScores>()
    if (outcome.outcome === 'found') for (const one of outcome.scores) scores.add(one.documentId, one)
    else degradations.add(code, causeOf(outcome, limits.keywordWaitMs))
    return scores
  }
  const wordScores = scoresBy(byWords, 'keyword_search_timed_out')
  const vectorScores = scoresBy(byVector, 'vector_search_unavailable')
  // `+word` and `-word` also apply to documents that only the vector branch found.
  const hasRequiredOrExcluded = query.clauses.some(({ kind }) => kind !== 'any')
  const candidates: FoundCandidate[] = []
  for (const hit of hits) {
    const { documentId } = hit
    const found = hit.keyword ?? wordScores.get(documentId)?.keyword ?? null
    const near = hit.vector ?? meanOf(vectors, vectorScores.get(documentId)?.vectors ?? [])
    const best = found ?? hit.vector
    const keyword = found?.score ?? null
    if (best === null || (hasRequiredOrExcluded && keyword === null)) continue
    const others = (hit.keyword ?? hit.vector)?.otherChunks.filter(({ chunkId }) => chunkId !== best.chunkId) ?? []
    candidates.push({ documentId, best, others, keyword, near, isExtra: isExtra(hit) })
  }
  const explained = needsParts ? wordScores.get(bestByWords.documentId)?.keyword : null
  return { candidates, evidence: wordEvidence(query, explained ?? bestByWords) }
}

const idsOf = (hits: readonly Hits[]): string[] => hits.map(({ documentId }) => documentId)

const isExtra = ({ keyword, vector }: Hits): boolean =>
  (keyword === null || keyword.isExtra === true) && (vector === null || vector.isExtra === true)

/** Each document once; documents of the keyword branch come first. */
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
