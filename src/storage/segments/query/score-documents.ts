import type { ChunkScore, DocumentScores, ScoreOutcome } from '../../../search/search-index.ts'
import { findDocument } from '../format/segment-image.ts'
import { type PackedQuery, packQuery } from '../format/vector-column.ts'
import type { SearchView, Segment } from '../memory/segment.ts'
import { ChunkScorer } from './chunk-scorer.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'
import type { KeywordPlan } from './plan-keyword.ts'
import { chunkScore } from './search-keyword.ts'
import { type Candidate, coarseCosines, exactCosines, type VectorSearch } from './search-vector.ts'

export interface DocumentScoring {
  readonly view: SearchView
  readonly documentIds: readonly string[]
  readonly plan: KeywordPlan
  readonly filter: CompiledFilter
  readonly explain: boolean
  readonly near: Pick<VectorSearch, 'profile' | 'vector' | 'kernel' | 'readFloats'> | null
  readonly deadline: number
}

/** Given documents' chunks of one segment, in its order, so that a walk through the postings goes one way. */
interface Placed {
  readonly number: number
  readonly segment: Segment
  readonly documents: { readonly id: string; readonly document: number }[]
}

interface Near extends NonNullable<DocumentScoring['near']> {
  readonly query: PackedQuery
}

interface Contender extends Candidate {
  readonly id: string
}

const timedOut = { outcome: 'timed_out' } as const

/** What given documents score, segment by segment. */
export function scoreDocuments(scoring: DocumentScoring): ScoreOutcome {
  const { view, documentIds, plan, deadline } = scoring
  const near = scoring.near && { ...scoring.near, query: packQuery(scoring.near.vector) }
  near?.kernel.setQuery(near.query)
  const keyword = new Map<string, ChunkScore>()
  const contenders: Contender[][] = []
  for (const placed of placeDocuments(view, new Set(documentIds))) {
    if (performance.now() > deadline) return timedOut
    if (!plan.empty) addKeywordScores(placed, scoring, keyword)
    if (near !== null) contenders.push(nearestContenders(placed, near, scoring.filter))
  }
  const vector = near && nearestChunks(scoring, near, contenders.flat())
  if (near !== null && vector === null) return timedOut
  const scores = documentIds.map(
    (documentId): DocumentScores => ({
      documentId,
      keyword: keyword.get(documentId) ?? null,
      vector: vector?.get(documentId) ?? null,
    }),
  )
  return { outcome: 'found', scores }
}

function placeDocuments({ segments, generation }: SearchView, documentIds: ReadonlySet<string>): Placed[] {
  const placed = segments.map((segment, number): Placed => ({ number, segment, documents: [] }))
  const encoder = new TextEncoder()
  for (const id of documentIds) {
    const bytes = encoder.encode(id)
    for (const { segment, documents } of placed) {
      const document = findDocument(segment.image, bytes)
      if (document < 0 || segment.died[segment.image.documentFirstChunk[document]!]! <= generation) continue
      documents.push({ id, document })
      break
    }
  }
  for (const { documents } of placed) documents.sort((a, b) => a.document - b.document)
  return placed.filter(({ documents }) => documents.length > 0)
}

/** The best matching chunk of each document that has one. */
function addKeywordScores(
  { segment: { image }, documents }: Placed,
  { plan, filter, explain }: DocumentScoring,
  scores: Map<string, ChunkScore>,
): void {
  const scorer = new ChunkScorer(image, plan)
  for (const { id, document } of documents) {
    let best = 0
    let bestChunk = -1
    for (let chunk = image.documentFirstChunk[document]!; chunk < image.documentFirstChunk[document + 1]!; chunk++) {
      const mask = filter.maskOf(image, chunk)
      const score = mask === 0 ? 0 : scorer.score(chunk, mask)
      if (score > best) {
        best = score
        bestChunk = chunk
      }
    }
    if (bestChunk < 0) continue
    const parts = explain ? { parts: scorer.parts(bestChunk, filter.maskOf(image, bestChunk)) } : {}
    scores.set(id, { ...chunkScore(image, bestChunk, best), ...parts })
  }
}

/** Of each document the chunks that may be its nearest, by what the bytes say. */
function nearestContenders({ number, segment, documents }: Placed, near: Near, filter: CompiledFilter): Contender[] {
  const { image } = segment
  const open = segment.columns.get(near.profile)
  if (open === undefined) return []
  const visible: number[] = []
  const ends = documents.map(({ document }) => {
    for (let chunk = image.documentFirstChunk[document]!; chunk < image.documentFirstChunk[document + 1]!; chunk++) {
      const isVisible = open.column.present[chunk] === 1 && (filter.maskOf(image, chunk) & bodyMask) !== 0
      if (isVisible) visible.push(chunk)
    }
    return visible.length
  })
  const chunks = Uint16Array.from(visible)
  const { cosines, errors } = coarseCosines(near.kernel, open, chunks, near.query.scale)
  return documents.flatMap(({ id }, i) => {
    const from = i === 0 ? 0 : ends[i - 1]!
    const own = Array.from(chunks.subarray(from, ends[i]), (chunk, j) => ({
      id,
      segment: number,
      chunk,
      score: cosines[from + j]!,
      error: errors[from + j]!,
    }))
    const least = own.reduce((most, { score, error }) => Math.max(most, score - error), -Infinity)
    return own.filter(({ score, error }) => score + error >= least)
  })
}

function nearestChunks(
  { view, deadline }: DocumentScoring,
  near: Near,
  contenders: readonly Contender[],
): Map<string, ChunkScore> | null {
  const exact = exactCosines({ ...near, view, deadline }, contenders)
  if (exact === null) return null
  const best = new Map<string, Candidate>()
  for (const [i, candidate] of exact.entries()) {
    const { id } = contenders[i]!
    const before = best.get(id)
    if (before === undefined || candidate.score > before.score) best.set(id, candidate)
  }
  return new Map(
    [...best].map(([id, { segment, chunk, score }]) => [id, chunkScore(view.segments[segment]!.image, chunk, score)]),
  )
}
